"""Rows of named values, and the interface of the formats that contain them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from spade_pyserini.corpora.checks import OnError
from spade_pyserini.errors import InputError


class Row(NamedTuple):
    """The values of a row by column, and its line in the file, or its number from 1."""

    values: dict[str, Any]
    line: int


class RowFormat(Protocol):
    """A format of files with rows. Its objects have no state of their own."""

    def columns(self, path: Path) -> list[str]:
        """The names of the columns."""

    def rows(self, path: Path, names: Sequence[str], on_error: OnError) -> Iterator[Row]:
        """Yield the rows with at least the columns ``names``; report bad rows."""

    def count(self, path: Path) -> int | None:
        """About the number of rows; None if it is unknown until they are read."""


def require_columns(names: Sequence[str], present: Sequence[str], path: Path) -> None:
    """Raise `InputError` if a file lacks one of the columns ``names``."""
    if missing := [name for name in names if name not in present]:
        shown = ", ".join(f"`{name}`" for name in present)
        message = f"there is no column {missing[0]!r}; the columns are {shown}"
        raise InputError(message, path)
