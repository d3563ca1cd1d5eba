"""A row of a table, and the interface of the file formats that have rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from spade_pyserini.corpora.checks import OnError
from spade_pyserini.errors import InputError


class Row(NamedTuple):
    """A row of a table.

    values: the value of each column.
    line: the line of the row in the file; for a format without lines, the number of the row from 1.
    """

    values: dict[str, Any]
    line: int


class RowFormat(Protocol):
    """A file format with rows and named columns. Implementations have no state."""

    def columns(self, path: Path) -> list[str]:
        """The names of the columns."""

    def rows(self, path: Path, names: Sequence[str], on_error: OnError) -> Iterator[Row]:
        """Yield the rows, with the columns ``names``; other columns may be missing.

        Errors are passed to ``on_error``.
        """

    def count(self, path: Path) -> int | None:
        """The approximate number of rows; None if it is unknown until the rows are read."""


def require_columns(names: Sequence[str], present: Sequence[str], path: Path) -> None:
    """Raise `InputError` if a file lacks one of the columns ``names``."""
    if missing := [name for name in names if name not in present]:
        shown = ", ".join(f"`{name}`" for name in present)
        message = f"there is no column {missing[0]!r}; the columns are {shown}"
        raise InputError(message, path)
