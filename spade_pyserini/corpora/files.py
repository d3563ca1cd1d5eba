"""Read documents from files and folders: recognize the format, choose the columns."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from lzma import LZMAError
from pathlib import Path

from spade_pyserini.corpora import layout, readers
from spade_pyserini.corpora.checks import LocatedDocument, OnError, ReadDocuments
from spade_pyserini.corpora.columnar import Parquet, SavedDataset
from spade_pyserini.corpora.delimited import Csv, Tsv, has_header
from spade_pyserini.corpora.fields import (
    Columns,
    FieldChoice,
    choose_columns,
    describe,
    to_document,
)
from spade_pyserini.corpora.first_line import MESSAGE, looks_like_data
from spade_pyserini.corpora.json_rows import JsonArray, JsonLines, is_array
from spade_pyserini.corpora.rows import RowFormat
from spade_pyserini.corpora.text_files import describe_text_files, read_text_files
from spade_pyserini.errors import InputError, SpadeError, UsageError

# The fields of BEIR and Pyserini. If JSON lines have no other fields, the columns are not logged.
STANDARD = {"_id", "id", "title", "text", "contents", "metadata", "url"}
WITHOUT_HEADER = (
    "%s: the lines are `id <tab> text`, without a header; if the first line is a header, name its "
    "columns with --id-field and --text-fields"
)
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Files:
    """How to read the documents of files.

    read, count, fields: as in `Corpus`.
    """

    read: ReadDocuments
    count: Callable[[], int | None]
    fields: str = ""


def open_files(path: Path, choice: FieldChoice) -> Files:
    """Recognize the format of a file or folder; guess the columns that ``choice`` does not name."""
    found = layout.corpus_layout(path)
    files = found.files
    if found.kind == layout.TEXT:
        if choice.given:
            message = f"{path}: text files have no columns"
            options = "id_field=COLUMN, title_field=COLUMN and text_fields=COLUMN"
            raise UsageError(f"{message}; leave out {options}")
        logger.info("%s: %s", path, describe_text_files(path, files))
        folder = path.parent if files == [path] else found.path
        return Files(partial(read_text_files, folder, files), partial(len, files))
    form = _row_format(found.kind, files[0], choice)
    if form is None:
        if found.kind == "tsv":
            logger.info(WITHOUT_HEADER, files[0])
        count = partial(readers.count_lines, files)
        return Files(partial(readers.read_files, files), count)
    names = form.columns(files[0])
    columns, changed = choose_columns(names, choice, files[0])
    if looks_like_data(names, files[0]):
        logger.warning("%s: %s", files[0], MESSAGE)
    logger.info("%s: %s", files[0], describe(columns, names))
    read = partial(_read_rows, form, files, columns)
    return Files(read, partial(_count_rows, form, files), changed)


def _row_format(kind: str, first: Path, choice: FieldChoice) -> RowFormat | None:
    """Return the format of a table, or None for the formats of BEIR, Pyserini and MS MARCO."""
    if kind == "json":
        if is_array(first):
            return JsonArray()
        return None if not choice.given and _is_standard(first) else JsonLines()
    if kind == "tsv":
        return Tsv() if choice.given or has_header(first) else None
    formats: dict[str, RowFormat] = {
        "csv": Csv(),
        "parquet": Parquet(),
        layout.DATASET: SavedDataset(),
    }
    return formats[kind]


def _is_standard(path: Path) -> bool:
    """Whether JSON lines have the fields of BEIR or Pyserini; True if no line can be read."""
    names = JsonLines().columns(path)
    if not names:
        return True
    docid = next((name for name in ("_id", "id") if name in names), None)
    text = next((name for name in ("text", "contents") if name in names), None)
    if docid is None or text is None:
        return False
    if not STANDARD.issuperset(names):
        columns = Columns(docid, "title" if "title" in names else None, (text,))
        logger.info("%s: %s", path, describe(columns, names))
    return True


def _read_rows(
    form: RowFormat, files: list[Path], columns: Columns, on_error: OnError
) -> Iterator[LocatedDocument]:
    number = -1  # number of the row, counted over all files
    for path in files:
        has_documents = False
        for row in form.rows(path, columns.names, on_error):
            number += 1
            try:
                document = to_document(row.values, columns, number)
            except ValueError as error:
                on_error(InputError(str(error), path, row.line))
                continue
            has_documents = True
            yield LocatedDocument(document, str(path), row.line)
        if not has_documents:
            raise InputError("the file contains no document", path)


def _count_rows(form: RowFormat, files: list[Path]) -> int | None:
    total = 0
    try:
        for path in files:
            count = form.count(path)
            if count is None:
                return None
            total += count
    except (SpadeError, OSError, EOFError, zlib.error, LZMAError):
        return None
    return total
