"""``sweep.csv``: a line for each setting that was run, and beside it what it was run on."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from spade_pyserini.errors import InputError, OutputExistsError
from spade_pyserini.formats.files import (
    atomic_write,
    read_lines,
    read_sealed,
    remove,
    write_sealed,
)
from spade_pyserini.formats.tables import render

FORMAT = "spade_pyserini.sweep/1"
PARAMETERS = ["alpha", "gamma", "k"]
COSTS = ["ms per query", "index MB", "terms per document", "documents", "removed terms"]
Row = dict[str, float]


class Results:
    """The rows of a folder. Those of another sweep are refused, or removed with ``overwrite``."""

    def __init__(
        self, folder: Path, origin: dict[str, Any], measures: list[str], overwrite: bool
    ) -> None:
        self.path = folder / "sweep.csv"
        self.columns = [*PARAMETERS, *measures, *COSTS]
        self.rows: list[Row] = []
        manifest = folder / "sweep.manifest.json"
        if overwrite:
            remove(self.path)
            remove(manifest)
        known = {"format": FORMAT, **origin, "columns": self.columns}
        if self.path.exists() and manifest.exists():
            found = read_sealed(manifest, FORMAT)
            if differing := [name for name in known if found.get(name) != known[name]]:
                message = f"{self.path} is of other {' and '.join(differing)}"
                raise OutputExistsError(f"{message}; choose another --output, or pass --overwrite")
            self.rows = self._read()
        elif self.path.exists():
            message = f"{self.path} is there without {manifest.name}"
            raise OutputExistsError(f"{message}; choose another --output, or pass --overwrite")
        write_sealed(manifest, known)

    def __contains__(self, setting: tuple[float, float, int]) -> bool:
        wanted = [_cell(value) for value in setting]
        return any([_cell(row[name]) for name in PARAMETERS] == wanted for row in self.rows)

    def add(self, row: Row) -> None:
        """Add a row and write all of them."""
        self.rows.append(row)
        self.rows.sort(key=lambda one: (one["k"], -one["gamma"], one["alpha"]))
        with atomic_write(self.path) as stream:
            stream.write(self.table("csv").encode() + b"\n")

    def table(self, form: str = "text") -> str:
        """All rows in one of the forms of `spade_pyserini.table`."""
        cells = [[_cell(row[name]) for name in self.columns] for row in self.rows]
        return render(self.columns, cells, form)

    def _read(self) -> list[Row]:
        lines = csv.reader(line for _, line in read_lines(self.path))
        if next(lines, None) != self.columns:
            raise InputError("not the header of a sweep; pass --overwrite", self.path, 1)
        try:
            return [dict(zip(self.columns, map(float, line), strict=True)) for line in lines]
        except ValueError as error:
            message = f"not a line of a sweep ({error}); pass --overwrite"
            raise InputError(message, self.path, lines.line_num) from None


def _cell(value: float) -> str:
    return f"{value:.10g}"
