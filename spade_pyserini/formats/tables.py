"""Format tables as text for a terminal, Markdown, LaTeX, CSV and JSON; read CSV files."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from spade_pyserini.errors import InputError
from spade_pyserini.formats.lines import read_lines

FORMATS = ("text", "markdown", "latex", "csv", "json")
LATEX = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "◇": r"$^{\diamond}$"}


def render(
    header: list[str], rows: list[list[str]], form: str = "text", left: tuple[int, ...] = (0,)
) -> str:
    """Return a table in one of `FORMATS`. Columns in ``left`` are texts, others are numbers.

    In JSON, an empty cell of a column of numbers is null.
    """
    if form == "markdown":
        rule = ["---" if column in left else "---:" for column in range(len(header))]
        return "\n".join(f"| {' | '.join(row)} |" for row in [header, rule, *rows])
    if form == "latex":
        lines = [" & ".join(map(_latex, row)) + r" \\" for row in [header, *rows]]
        columns = "".join("l" if column in left else "r" for column in range(len(header)))
        begin = f"\\begin{{tabular}}{{{columns}}}\n\\toprule"
        end = "\\bottomrule\n\\end{tabular}"
        return "\n".join([begin, lines[0], r"\midrule", *lines[1:], end])
    if form == "csv":
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])
        return stream.getvalue().rstrip("\n")
    if form == "json":
        values = [
            [cell if column in left else _number(cell) for column, cell in enumerate(row)]
            for row in rows
        ]
        objects = [dict(zip(header, row, strict=True)) for row in values]
        return json.dumps(objects, indent=1, ensure_ascii=False)
    return text_table(header, rows, left)


def text_table(header: list[str], rows: list[list[str]], left: tuple[int, ...] = (0,)) -> str:
    """Return a table with padded columns. Columns in ``left`` are aligned left, others right."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]

    def row(cells: list[str]) -> str:
        padded = (
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "  ".join(padded).rstrip()

    return "\n".join([row(header), "  ".join("-" * width for width in widths), *map(row, rows)])


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as "1 topic" or "3 topics"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _latex(cell: str) -> str:
    return "".join(LATEX.get(letter, letter) for letter in cell)


def _number(cell: str) -> float | str | None:
    if not cell:
        return None
    try:
        return float(cell)
    except ValueError:
        return cell


def read_csv(path: Path) -> list[list[str]]:
    """Read a CSV file with a header and at least one row, all with the same number of cells."""
    rows: list[list[str]] = []
    reader = csv.reader((f"{line}\n" for _, line in read_lines(path)), strict=True)
    try:
        for row in reader:
            if rows and len(row) != len(rows[0]):
                message = f"expected {len(rows[0])} columns, found {len(row)}"
                raise InputError(message, path, reader.line_num)
            rows.append(row)
    except csv.Error as error:
        raise InputError(f"not valid CSV ({error})", path, reader.line_num) from None
    if len(rows) < 2:
        raise InputError("expected a header and at least one row", path)
    return rows
