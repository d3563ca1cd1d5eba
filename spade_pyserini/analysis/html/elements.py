"""Parts of an HTML page: sections, paragraphs, tables, figures."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

# Marks a significant difference. It is not imported from evaluate.significance, because that import
# takes seconds.
MARK = "◇"
NUMBER = re.compile(rf"[+-]?[\d.,]+%?[{MARK} ]?")
MEDIA = {".svg": "image/svg+xml", ".png": "image/png"}


def section(title: str, *parts: str) -> str:
    """Return a box with a heading."""
    return "\n".join([f"<section>\n<h2>{escape(title)}</h2>", *parts, "</section>"])


def paragraph(text: str, kind: str = "note") -> str:
    """Return a paragraph of plain text; ``kind`` is its CSS class."""
    return f'<p class="{kind}">{escape(text)}</p>'


def details(summary: str, *parts: str) -> str:
    """Return a part that is collapsed until a reader opens it."""
    return "\n".join([f"<details><summary>{escape(summary)}</summary>", *parts, "</details>"])


def tiles(figures: dict[str, str]) -> str:
    """Return a few values in large letters, each above its name."""
    boxes = (
        f"<div><strong>{escape(figure)}</strong><span>{escape(name)}</span></div>"
        for name, figure in figures.items()
    )
    return f'<div class="tiles">{"".join(boxes)}</div>'


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    bold: bool = False,
    kind: str = "",
    links: Mapping[str, str] | None = None,
) -> str:
    """Return a table; ``bold`` marks the largest number of each column.

    A wide table gets its own scroll bar. ``links`` maps a text of the first column to an anchor on
    the page; the text becomes a link to this anchor.
    """
    columns = [*zip(*rows, strict=True)]
    is_number = [
        index > 0 and all(map(NUMBER.fullmatch, cells)) for index, cells in enumerate(columns)
    ]
    is_marked = [any(cell.endswith(MARK) for cell in cells) for cells in columns]
    largest = [max(map(_value, cells)) for cells in columns]

    def cell(column: int, text: str, tag: str = "td") -> str:
        inner = escape(text.rstrip(f"{MARK} "))
        if bold and tag == "td" and is_number[column] and _value(text) == largest[column]:
            inner = f"<b>{inner}</b>"
        if links and tag == "td" and column == 0 and text in links:
            inner = f'<a href="#{escape(links[text])}">{inner}</a>'
        if is_marked[column]:  # every row reserves the mark's width, so that digits align
            inner += f"<i>{MARK if text.endswith(MARK) else ''}</i>"
        return f"<{tag}{' class=number' if is_number[column] else ''}>{inner}</{tag}>"

    head = "".join(cell(column, name, "th") for column, name in enumerate(header))
    body = "\n".join(
        f"<tr>{''.join(cell(column, text) for column, text in enumerate(row))}</tr>" for row in rows
    )
    start = f'<div class="wide"><table class="{kind}">'
    return f"{start}<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"


def _value(text: str) -> float:
    try:
        return float(text.rstrip(f"{MARK}% ").replace(",", ""))
    except ValueError:
        return -math.inf


def side_by_side(boxes: Iterable[str]) -> str:
    """Return boxes next to each other, or below each other on a narrow screen."""
    return f'<div class="boxes">{"".join(f"<div>{box}</div>" for box in boxes)}</div>'


def image(path: Path) -> str:
    """Return an image file embedded in the page; scripts in an SVG file do not run."""
    data = base64.b64encode(path.read_bytes()).decode()
    source = f"data:{MEDIA[path.suffix]};base64,{data}"
    name = escape(path.name)
    return f'<figure><img src="{source}" alt="{name}"><figcaption>{name}</figcaption></figure>'
