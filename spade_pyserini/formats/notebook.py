"""Small HTML tables that notebooks show for results. Cells are escaped.

Notebooks have their own colours, so tables use only colours that are readable on light and
dark pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from spade_pyserini.formats.unicode import printable

BAR = "display:inline-block;height:.7em;margin-right:.4em;background:"
BLUE, ORANGE = "#2f6fd0", "#d4691c"
LEFT = ' style="text-align:left"'
WIDTH = 8  # width of the longest bar, in em


class Html(str):
    """A cell that is HTML already and is not escaped."""


def html_table(header: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Return a table; values other than `Html` are escaped."""
    head = "".join(f"<th{LEFT}>{escape(name)}</th>" for name in header)
    body = "\n".join(
        f"<tr>{''.join(f'<td{LEFT}>{_cell(value)}</td>' for value in row)}</tr>" for row in rows
    )
    title = f"<caption{LEFT}>{escape(printable(caption))}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"


def html_bar(label: object, parts: Mapping[str, float], largest: float) -> Html:
    """Return bars next to each other, with a label.

    ``parts`` has the values of the bars by colour; a bar with the value ``largest`` is the longest.
    """
    longest = max(largest, 1e-9)
    bars = "".join(
        f'<span style="{BAR}{colour};width:{WIDTH * max(0.0, value) / longest:.2f}em;'
        'margin-right:0"></span>'
        for colour, value in parts.items()
    )
    return Html(f"{bars} {_cell(label)}")


def _cell(value: object) -> str:
    return value if isinstance(value, Html) else escape(printable(str(value)))
