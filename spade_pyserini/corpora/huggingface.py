"""Hugging Face datasets with text columns: ``hf:OWNER/DATASET[:CONFIG[:SPLIT]]``, or a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spade_pyserini.corpora.checks import LocatedDocument, OnError
from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.records import Document

PREFIX = "hf:"
IDS = ("_id", "id", "docid", "doc_id", "passage_id", "pid")
TEXTS = ("text", "contents", "passage", "body", "content")


def documents(name: str, on_error: OnError) -> Iterator[LocatedDocument]:
    """Stream the rows as documents; without an id column, the row number is the id."""
    import datasets

    source, _, rest = name.removeprefix(PREFIX).partition(":")
    config, _, split = rest.partition(":")
    if ".." in Path(source).parts:
        message = f"the dataset {source!r} cannot be loaded: '..' is in the name"
        raise NotFoundError(f"{message}; give OWNER/DATASET, or the path of a folder without it")
    try:
        splits = datasets.load_dataset(source, config or None, streaming=True)
    except Exception as error:  # the hub's own errors, offline, no such dataset, a bad name
        reason = str(error).strip().splitlines()[0]
        raise NotFoundError(f"the dataset {source!r} cannot be loaded: {reason}") from error
    split = split or next(iter(splits))
    if split not in splits:
        raise NotFoundError(f"{source} has no split {split!r}; it has {', '.join(splits)}")
    for number, row in enumerate(splits[split]):
        text = _first(row, TEXTS)
        if not isinstance(text, str):
            columns = ", ".join(row)
            message = f"no text column ({', '.join(TEXTS)}) among {columns}"
            on_error(InputError(message, name, number + 1))
            continue
        docid, title = _first(row, IDS), row.get("title")
        document = Document(str(number if docid is None else docid), str(title or ""), text)
        yield LocatedDocument(document, name, number + 1)


def _first(row: dict[str, Any], columns: tuple[str, ...]) -> Any:
    return next((row[name] for name in columns if row.get(name) is not None), None)
