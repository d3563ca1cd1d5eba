"""Read tables whose rows are queries, judgements, or pairs (a query and a text).

The formats are CSV, TSV with a header, JSON lines, JSON arrays and Parquet, plain or compressed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path

from spade_pyserini.corpora.checks import raise_error
from spade_pyserini.corpora.columnar import Parquet
from spade_pyserini.corpora.delimited import Csv, Tsv
from spade_pyserini.corpora.fields import guess_column, listed
from spade_pyserini.corpora.first_line import refuse_data
from spade_pyserini.corpora.json_rows import JsonArray, JsonLines, is_array
from spade_pyserini.corpora.layout import file_kind
from spade_pyserini.corpora.rows import Row, RowFormat
from spade_pyserini.errors import InputError, UsageError
from spade_pyserini.formats.lines import read_lines

logger = logging.getLogger(__name__)
IsHeader = Callable[[list[str]], bool]
"""A function that returns whether the cells of a TSV file's first line are column names."""


def table_format(path: Path, is_header: IsHeader) -> RowFormat | None:
    """Return the format of a table by the name of its file; None if the file is not a table.

    A TSV file is a table if ``is_header`` accepts its first line.
    """
    kind = file_kind(path)
    if kind == "json":
        return JsonArray() if is_array(path) else JsonLines()
    if kind == "csv":
        return Csv()
    if kind == "parquet":
        return Parquet()
    if kind in ("tsv", "text"):
        first = next((line for _, line in read_lines(path)), "")
        return Tsv() if is_header([cell.strip() for cell in first.split("\t")]) else None
    return None


def table_rows(form: RowFormat, path: Path, names: Sequence[str] = ()) -> Iterator[Row]:
    """Yield the rows of a table; the first bad row raises `InputError`."""
    return form.rows(path, names, raise_error)


def require_column(
    names: Sequence[str],
    known: Sequence[str],
    what: str,
    path: Path,
    parameter: str,
    taken: Container[str | None] = (),
) -> str:
    """Return the first column of ``known`` that is in ``names`` and not in ``taken``.

    Case is ignored, as in `guess_column`.

    If there is no such column, raise `InputError`. The message says what the column should contain
    (``what``) and with which ``parameter`` the user can name it.
    """
    column = guess_column([name for name in names if name not in taken], known)
    if column is None:
        refuse_data(names, path)
        message = f"no column for {what} among {listed(names)}"
        cure = f"name the column with {parameter}=COLUMN, or rename it to {' or '.join(known[:4])}"
        raise InputError(f"{message}; {cure}", path)
    return column


def refuse_columns(chosen: Mapping[str, str | None], reason: str) -> None:
    """Raise `UsageError` if a parameter names a column. ``reason`` says why that is a mistake."""
    for parameter, name in chosen.items():
        if name is not None:
            raise UsageError(f"{reason}; leave out {parameter}={name!r}")


def log_columns(path: Path, **columns: str | None) -> None:
    """Log which columns are read: ``a.csv: ids from `qid`, queries from `question` ``."""
    parts = [f"{part} from `{name}`" for part, name in columns.items() if name]
    logger.info("%s: %s", path, ", ".join(parts))
