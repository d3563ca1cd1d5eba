"""Hugging Face datasets with text columns: ``hf:OWNER/DATASET[:CONFIG[:SPLIT]]``, or a folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from spade_pyserini.corpora.checks import Located, OnError
from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.records import Document

PREFIX = "hf:"
IDS = ("_id", "id", "docid", "doc_id", "passage_id", "pid")
TEXTS = ("text", "contents", "passage", "body", "content")


def documents(name: str, on_error: OnError) -> Iterator[Located]:
    """Rows as documents, streamed; without a column of ids, the row's number is the id."""
    import datasets

    source, _, rest = name.removeprefix(PREFIX).partition(":")
    config, _, split = rest.partition(":")
    try:
        loaded = datasets.load_dataset(source, config or None, streaming=True)
    except Exception as error:  # the hub's own errors, offline, no such dataset, a bad name
        reason = str(error).strip().splitlines()[0]
        raise NotFoundError(f"the dataset {source!r} cannot be had: {reason}") from error
    chosen = split or next(iter(loaded))
    if chosen not in loaded:
        raise NotFoundError(f"{source} has no split {chosen!r}; it has {', '.join(loaded)}")
    for number, row in enumerate(loaded[chosen]):
        text = _first(row, TEXTS)
        if not isinstance(text, str):
            columns = ", ".join(row)
            message = f"no column of texts ({', '.join(TEXTS)}) among {columns}"
            on_error(InputError(message, name, number + 1))
            continue
        docid, title = _first(row, IDS), row.get("title")
        document = Document(str(number if docid is None else docid), str(title or ""), text)
        yield Located(document, name, number + 1)


def _first(row: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((row[name] for name in names if row.get(name) is not None), None)
