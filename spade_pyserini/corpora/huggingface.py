"""Read Hugging Face datasets: ``hf:OWNER/DATASET[:CONFIG[:SPLIT]]``, or ``hf:FOLDER``."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from spade_pyserini.corpora.checks import LocatedDocument, OnError, ReadDocuments
from spade_pyserini.corpora.fields import (
    Columns,
    FieldChoice,
    choose_columns,
    describe,
    to_document,
)
from spade_pyserini.errors import InputError, NotFoundError

PREFIX = "hf:"
logger = logging.getLogger(__name__)


class Dataset(NamedTuple):
    """How to read a dataset. ``read`` and ``fields`` have the same meaning as in `Corpus`."""

    read: ReadDocuments
    fields: str = ""


def open_dataset(name: str, choice: FieldChoice) -> Dataset:
    """Choose the columns of a dataset. If there is no id column, the row numbers are the ids."""
    names = list(next(iter(_rows(name)), {}))
    if not names:
        return Dataset(_no_documents)
    columns, changed = choose_columns(names, choice, name, number_rows=True)
    logger.info("%s: %s", name, describe(columns, names))
    return Dataset(partial(_documents, name, columns), changed)


def _no_documents(_: OnError) -> Iterator[LocatedDocument]:
    return iter(())


def _documents(name: str, columns: Columns, on_error: OnError) -> Iterator[LocatedDocument]:
    for number, row in enumerate(_rows(name)):
        try:
            document = to_document(row, columns, number)
        except ValueError as error:
            on_error(InputError(str(error), name, number + 1))
        else:
            yield LocatedDocument(document, name, number + 1)


def _rows(name: str) -> Iterator[dict[str, Any]]:
    """Stream the rows of a dataset."""
    import datasets

    source, _, rest = name.removeprefix(PREFIX).partition(":")
    config, _, split = rest.partition(":")
    if ".." in Path(source).parts:
        message = f"the dataset {source!r} cannot be loaded: '..' is in the name"
        raise NotFoundError(f"{message}; give OWNER/DATASET, or the path of a folder without '..'")
    try:
        splits = datasets.load_dataset(source, config or None, streaming=True)
    except Exception as error:  # the hub's own errors, offline, no such dataset, a bad name
        reason = str(error).strip().splitlines()[0]
        raise NotFoundError(f"the dataset {source!r} cannot be loaded: {reason}") from error
    split = split or next(iter(splits))
    if split not in splits:
        raise NotFoundError(f"{source} has no split {split!r}; it has {', '.join(splits)}")
    yield from splits[split]
