"""ir_datasets: any of its collections by its id, downloaded by it on first use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.records import Document, Topic

TITLES = ("title",)
TEXTS = ("text", "body", "abstract", "default_text")


def is_known(name: str) -> bool:
    """Whether ir_datasets has this id. Nothing is downloaded."""
    import ir_datasets

    try:
        ir_datasets.load(name)
    except (KeyError, ValueError):
        return False
    return True


def documents(name: str) -> Iterator[Document]:
    """Title and text, of whatever fields the collection has."""
    with _named(name) as dataset:
        for record in dataset.docs_iter():
            yield Document(record.doc_id, _field(record, TITLES), _text(record, name))


def count(name: str) -> int | None:
    """How many documents it has, as ir_datasets' own notes say. Nothing is downloaded."""
    import ir_datasets

    known = ir_datasets.load(name).metadata().get("docs", {}).get("count")
    return int(known) if known is not None else None


def topics(name: str) -> Iterator[Topic]:
    """Queries by their default text."""
    with _named(name) as dataset:
        for record in dataset.queries_iter():
            text = getattr(record, "text", None) or record.default_text()
            yield Topic(record.query_id, " ".join(text.split()))


def qrels(name: str) -> Iterator[tuple[str, str, int]]:
    """(query, document, grade)."""
    with _named(name) as dataset:
        for record in dataset.qrels_iter():
            yield record.query_id, record.doc_id, int(record.relevance)


def _text(record: Any, name: str) -> str:
    if text := _field(record, TEXTS):
        return text
    if hasattr(record, "default_text"):
        return str(record.default_text())
    raise InputError(f"a document has no text in {', '.join(TEXTS)}", name)


def _field(record: Any, names: tuple[str, ...]) -> str:
    found = (getattr(record, name, None) for name in names)
    return next((value for value in found if isinstance(value, str)), "")


@contextmanager
def _named(name: str) -> Iterator[Any]:
    import ir_datasets
    import requests

    try:
        yield ir_datasets.load(name)
    except AttributeError:
        raise NotFoundError(f"ir_datasets' {name!r} does not have what was asked of it") from None
    except (requests.RequestException, OSError, RuntimeError) as error:
        raise NotFoundError(
            f"{name!r} is not on this machine and ir_datasets could not download it; get the files "
            "and pass --corpus-path PATH, or put them in BEIR's form into a folder below --data-dir"
        ) from error
