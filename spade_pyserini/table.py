"""Tables for people at a terminal."""

from __future__ import annotations


def text_table(header: list[str], rows: list[list[str]]) -> str:
    """Columns padded to their widest cell; the first to the left, numbers to the right."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]

    def row(cells: list[str]) -> str:
        first = cells[0].ljust(widths[0])
        others = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
        return "  ".join([first, *others]).rstrip()

    return "\n".join([row(header), "  ".join("-" * width for width in widths), *map(row, rows)])
