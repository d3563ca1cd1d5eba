"""The results of a sweep: a row of ``sweep.csv`` for each setting, and a manifest of the inputs."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from spade_pyserini.errors import InputError, OutputExistsError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.lines import read_lines
from spade_pyserini.formats.paths import remove
from spade_pyserini.formats.sealed_json import read_sealed, write_sealed
from spade_pyserini.formats.tables import render

FORMAT = "spade_pyserini.sweep/1"
PARAMETERS = ["alpha", "gamma", "k", "prune_ratio"]
LATER = {"prune_ratio": 0.0}  # newer parameters, and the values to assume for older results
COSTS = ["ms per query", "index MB", "terms per document", "documents", "removed terms"]
CURE = "choose another output, or pass overwrite=True to replace it"
Row = dict[str, float]


class Results:
    """The rows of ``sweep.csv`` in the folder of a sweep.

    ``digests`` are the digests of the sweep's inputs. With ``overwrite``, existing results are
    removed. Without it, `OutputExistsError` is raised if the folder has results of other inputs.
    """

    def __init__(
        self, folder: Path, digests: dict[str, Any], measures: list[str], overwrite: bool
    ) -> None:
        self.path = folder / "sweep.csv"
        self.columns = [*PARAMETERS, *measures, *COSTS]
        self.rows: list[Row] = []
        manifest = folder / "sweep.manifest.json"
        if overwrite:
            remove(self.path)
            remove(manifest)
        values = {"format": FORMAT, **digests, "columns": self.columns}
        if self.path.exists() and manifest.exists():
            saved = read_sealed(manifest, FORMAT)
            if saved.get("columns") == self._older_columns:
                saved["columns"] = self.columns
            if differing := [name for name in values if saved.get(name) != values[name]]:
                message = f"{self.path} was written with different {' and '.join(differing)}"
                raise OutputExistsError(f"{message}; {CURE}")
            self.rows = self._read()
        elif self.path.exists():
            raise OutputExistsError(f"{self.path} exists without {manifest.name}; {CURE}")
        write_sealed(manifest, values)

    @property
    def _older_columns(self) -> list[str]:
        """The columns that older versions wrote."""
        return [name for name in self.columns if name not in LATER]

    def __contains__(self, setting: tuple[float, ...]) -> bool:
        cells = [_cell(value) for value in setting]
        return any([_cell(row[name]) for name in PARAMETERS] == cells for row in self.rows)

    def add(self, row: Row) -> None:
        """Add a row, and write all rows to the file."""
        self.rows.append(row)
        self.rows.sort(key=lambda row: (row["k"], row["prune_ratio"], -row["gamma"], row["alpha"]))
        with atomic_write(self.path) as stream:
            stream.write(self.table("csv").encode() + b"\n")

    def table(self, form: str = "text") -> str:
        """Return all rows in one of the formats of `spade_pyserini.formats.tables`."""
        cells = [[_cell(row[name]) for name in self.columns] for row in self.rows]
        return render(self.columns, cells, form)

    def _read(self) -> list[Row]:
        lines = csv.reader(line for _, line in read_lines(self.path))
        columns = next(lines, None)
        if columns is None or columns not in (self.columns, self._older_columns):
            raise InputError(
                "not the header of a sweep; pass overwrite=True to replace it", self.path, 1
            )
        try:
            return [LATER | dict(zip(columns, map(float, line), strict=True)) for line in lines]
        except ValueError as error:
            message = f"not a row of a sweep ({error}); pass overwrite=True to replace it"
            raise InputError(message, self.path, lines.line_num) from None


def _cell(value: float) -> str:
    return f"{value:.10g}"
