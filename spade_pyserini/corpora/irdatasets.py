"""Read collections of ir_datasets by id; ir_datasets downloads them on first use."""

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
    """Yield the documents, with title and text from the fields that the collection has."""
    with _load(name) as dataset:
        for record in dataset.docs_iter():
            yield Document(record.doc_id, _field(record, TITLES), _text(record, name))


def count(name: str) -> int | None:
    """Return the number of documents in ir_datasets' metadata, or None. Nothing is downloaded."""
    import ir_datasets

    documents = ir_datasets.load(name).metadata().get("docs", {}).get("count")
    return int(documents) if documents is not None else None


def topics(name: str) -> Iterator[Topic]:
    """Yield the queries; if a query has no field ``text``, ``default_text()`` returns its text."""
    with _load(name) as dataset:
        for record in dataset.queries_iter():
            text = getattr(record, "text", None) or record.default_text()
            yield Topic(record.query_id, " ".join(text.split()))


def qrels(name: str) -> Iterator[tuple[str, str, int]]:
    """Yield (topic id, document id, grade)."""
    with _load(name) as dataset:
        for record in dataset.qrels_iter():
            yield record.query_id, record.doc_id, int(record.relevance)


def _text(record: Any, name: str) -> str:
    if text := _field(record, TEXTS):
        return text
    if hasattr(record, "default_text"):
        return str(record.default_text())
    message = f"a document has none of the text fields {', '.join(TEXTS)}"
    raise InputError(f"{message}; this dataset is not supported", name)


def _field(record: Any, names: tuple[str, ...]) -> str:
    values = (getattr(record, name, None) for name in names)
    return next((value for value in values if isinstance(value, str)), "")


@contextmanager
def _load(name: str) -> Iterator[Any]:
    """Load a dataset; raise `NotFoundError` if loading or reading it fails."""
    import ir_datasets
    import requests

    try:
        yield ir_datasets.load(name)
    except AttributeError:
        raise NotFoundError(
            f"the dataset {name!r} of ir_datasets lacks the documents, topics or qrels that were "
            "requested; choose another dataset"
        ) from None
    except (requests.RequestException, OSError, RuntimeError) as error:
        raise NotFoundError(
            f"{name!r} is not on this machine and ir_datasets could not download it; get the files "
            "and give their path instead of the name, or put them in BEIR format into a folder "
            "below the data directory (data_dir=DIR)"
        ) from error
