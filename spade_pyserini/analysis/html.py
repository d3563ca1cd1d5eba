"""HTML pages that need nothing but themselves: a style, tables, and charts as inline SVG.

All functions take plain text and escape it. Charts are drawn in percents of their box, so that
they fill a telephone as well as a desk, with letters of the same size. Colours are the style's,
which follows the reader's choice of light or dark.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from spade_pyserini.analysis.compare import QueryDifference

HEIGHT = 240  # of the chart of differences, in pixels
MARK = "◇"  # evaluate.significance's, whose import takes seconds
NUMBER = re.compile(rf"[+-]?[\d.,]+%?[{MARK} ]?")
MEDIA = {".svg": "image/svg+xml", ".png": "image/png"}


def page(title: str, sections: Iterable[str]) -> str:
    """A whole page. Its policy forbids scripts and anything from elsewhere."""
    return PAGE.format(title=escape(title), style=STYLE, body="\n".join(sections))


def section(title: str, *parts: str) -> str:
    return "\n".join([f"<section>\n<h2>{escape(title)}</h2>", *parts, "</section>"])


def paragraph(text: str, kind: str = "note") -> str:
    return f'<p class="{kind}">{escape(text)}</p>'


def tiles(figures: dict[str, str]) -> str:
    """A few figures, large, each over its name."""
    boxes = (
        f"<div><strong>{escape(figure)}</strong><span>{escape(name)}</span></div>"
        for name, figure in figures.items()
    )
    return f'<div class="tiles">{"".join(boxes)}</div>'


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, bold: bool = False, kind: str = ""
) -> str:
    """A table in a box that scrolls by itself. With ``bold``, the best figure of each column is."""
    columns = [*zip(*rows, strict=True)]
    numbers = [
        place > 0 and all(map(NUMBER.fullmatch, cells)) for place, cells in enumerate(columns)
    ]
    marked = [any(cell.endswith(MARK) for cell in cells) for cells in columns]
    best = [max(map(_value, cells)) for cells in columns]

    def cell(place: int, text: str, tag: str = "td") -> str:
        inner = escape(text.rstrip(f"{MARK} "))
        if bold and tag == "td" and numbers[place] and _value(text) == best[place]:
            inner = f"<b>{inner}</b>"
        if marked[place]:  # room for it in every line: digits stay below each other
            inner += f"<i>{MARK if text.endswith(MARK) else ''}</i>"
        return f"<{tag}{' class=number' if numbers[place] else ''}>{inner}</{tag}>"

    head = "".join(cell(place, name, "th") for place, name in enumerate(header))
    body = "\n".join(
        f"<tr>{''.join(cell(place, text) for place, text in enumerate(row))}</tr>" for row in rows
    )
    opened = f'<div class="wide"><table class="{kind}">'
    return f"{opened}<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"


def _value(text: str) -> float:
    try:
        return float(text.rstrip(f"{MARK}% ").replace(",", ""))
    except ValueError:
        return -math.inf


def side_by_side(boxes: Iterable[str]) -> str:
    """Boxes next to each other where there is room, else below each other."""
    return f'<div class="boxes">{"".join(f"<div>{box}</div>" for box in boxes)}</div>'


def bars(title: str, values: dict[str, float], baseline: str | None = None) -> str:
    """A bar for each run, from 0 to 1, or to the largest where that is more; its name above it."""
    most = max(1.0, *values.values())
    rows = []
    for number, (name, value) in enumerate(values.items()):
        top = 40 * number
        kind = "baseline" if name == baseline else "gain"
        shown = name if len(name) <= 34 else f"{name[:16]}…{name[-17:]}"
        rows.append(
            f'<text y="{top + 14}">{escape(shown)}<title>{escape(name)}</title></text>'
            f'<text class="value" x="100%" y="{top + 14}">{value:.4f}</text>'
            f'<rect class="track" y="{top + 20}" width="100%" height="10" rx="2"/>'
            f'<rect class="{kind}" y="{top + 20}" width="{value / most:.2%}" height="10" rx="2"/>'
        )
    label = f'role="img" aria-label="{escape(title)}"'
    height = 40 * len(values) - 8
    return f'<h3>{escape(title)}</h3><svg height="{height}" {label}>{"".join(rows)}</svg>'


def difference_chart(
    found: Sequence[QueryDifference], texts: dict[str, str], names: tuple[str, str]
) -> str:
    """A bar for each topic, largest gain first; pointing at one shows its text and values."""
    heights = [one.difference for one in found]
    marks = _ticks(min(0.0, *heights), max(0.0, *heights))
    low, high = marks[0], marks[-1]

    def place(value: float) -> float:
        return 8 + (high - value) / (high - low) * (HEIGHT - 16)

    lines = [
        f'<line class="{"grid" if mark else "zero"}" x2="100%" y1="{place(mark):.1f}" '
        f'y2="{place(mark):.1f}"/>'
        for mark in marks
    ]
    width = 100 / len(found)
    for number, one in enumerate(found):
        if one.difference:
            ends = sorted((place(one.difference), place(0)))
            topic = f"{one.qid} {texts.get(one.qid, '')}".strip()
            lines.append(
                f'<rect class="{"gain" if one.difference > 0 else "loss"}" '
                f'x="{number * width:.3f}%" width="{1.1 * width:.3f}%" '
                f'y="{ends[0]:.1f}" height="{ends[1] - ends[0]:.1f}">'
                f"<title>{escape(topic)}\n"
                f"{one.first:.4f} to {one.second:.4f}, {one.difference:+.4f}</title></rect>"
            )
    labels = "".join(
        f'<text class="value" x="100%" y="{place(mark) + 4:.1f}">{_signed(mark)}</text>'
        for mark in marks
    )
    title = escape(f"{names[1]} against {names[0]}, topic by topic")
    return (
        f'<div class="plot"><svg height="{HEIGHT}" aria-hidden="true">{labels}</svg>'
        f'<svg height="{HEIGHT}" role="img" aria-label="{title}">{"".join(lines)}</svg></div>'
    )


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers from below ``low`` to above ``high``, 0 among them, less than ten."""
    span = (high - low) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 8))
    step = next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) <= 8)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [number * step for number in range(first, max(last, first + 1) + 1)]


def _signed(value: float) -> str:
    return f"{value:+.4g}" if value else "0"


def image(path: Path) -> str:
    """A figure's file within the page, as a picture: nothing in it can run."""
    data = base64.b64encode(path.read_bytes()).decode()
    source = f"data:{MEDIA[path.suffix]};base64,{data}"
    name = escape(path.name)
    return f'<figure><img src="{source}" alt="{name}"><figcaption>{name}</figcaption></figure>'


STYLE = """
:root { color-scheme: light dark; --page: #fbfbfa; --box: #fff; --ink: #1d232b; --soft: #5d6875;
  --line: #e1e4e8; --track: #eceff2; --base: #9aa5b1; --gain: #2f6fd0; --loss: #d4691c; }
@media (prefers-color-scheme: dark) { :root { --page: #14171b; --box: #1c2026; --ink: #e5e9ee;
  --soft: #9aa6b3; --line: #30363e; --track: #2a3038; --base: #75818e; --gain: #6ba1f2;
  --loss: #ef9150; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 72rem; background: var(--page);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 1.75rem; line-height: 1.2; }
h2 { margin: 0 0 .75rem; font-size: 1.2rem; line-height: 1.3; }
h3 { margin: 0 0 .5rem; font-size: .95rem; }
section { margin-top: 1.5rem; padding: 1.25rem; background: var(--box);
  border: 1px solid var(--line); border-radius: 8px; }
.note { margin: .4rem 0; color: var(--soft); font-size: .85rem; }
.wide { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; }
th { color: var(--soft); font-size: .8rem; text-align: left; vertical-align: bottom; }
th, td { padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th:first-child, td:first-child { padding-left: 0; }
th:last-child, td:last-child { padding-right: 0; }
td:not(.number) { min-width: 6rem; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.number i { display: inline-block; width: 1em; font-style: normal; text-align: left; }
.boxes { display: grid; gap: 1.5rem 2rem; margin: 1rem 0 .5rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr)); }
.boxes > div { min-width: 0; }
.tiles { display: flex; flex-wrap: wrap; gap: .75rem 2rem; margin: .8rem 0 1rem; }
.tiles strong { display: block; font-size: 1.35rem; line-height: 1.2;
  font-variant-numeric: tabular-nums; }
.tiles span { color: var(--soft); font-size: .8rem; }
.plot { display: grid; grid-template-columns: 3rem 1fr; gap: .5rem; }
svg { display: block; width: 100%; font-size: 12px; }
svg text { fill: var(--ink); }
svg .value { text-anchor: end; font-variant-numeric: tabular-nums; }
.plot .value { fill: var(--soft); }
.track { fill: var(--track); } .baseline { fill: var(--base); }
.gain { fill: var(--gain); } .loss { fill: var(--loss); }
.grid { stroke: var(--line); } .zero { stroke: var(--soft); }
figure { margin: 0; }
img { max-width: 100%; background: #fff; border-radius: 4px; }
figcaption { color: var(--soft); font-size: .8rem; }
@media (max-width: 40rem) { section { padding: 1rem .8rem; } h1 { font-size: 1.4rem; }
  .tiles { gap: .5rem 1rem; } .tiles strong { font-size: 1.1rem; }
  .topics tr { display: grid; grid-template-columns: repeat(3, 1fr);
    border-bottom: 1px solid var(--line); }
  .topics th, .topics td { border: 0; padding: .15rem 0; }
  .topics td:first-child, .topics th:first-child { grid-column: 1 / -1; } }
"""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""
