"""Bar charts as inline SVG.

Widths are percentages, so that charts fit any screen while letters keep their size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

HEIGHT = 240  # height of the chart of signed bars, in pixels
ROW = 40  # height of a horizontal bar with its label, in pixels


class SignedBar(NamedTuple):
    """A bar above or below 0, and its tooltip."""

    value: float
    tooltip: str


def bars(title: str, values: dict[str, float], baseline: str | None = None) -> str:
    """Return a horizontal bar for each run, labelled with its name and value.

    The scale goes from 0 to 1, or to the largest value if that is larger.
    """
    largest = max(1.0, *values.values())
    rows = []
    for number, (name, value) in enumerate(values.items()):
        top = ROW * number
        kind = "baseline" if name == baseline else "gain"
        shown = name if len(name) <= 34 else f"{name[:16]}…{name[-17:]}"
        width = f"{value / largest:.2%}"
        rows.append(
            f'<text y="{top + 14}">{escape(shown)}<title>{escape(name)}</title></text>'
            f'<text class="value" x="100%" y="{top + 14}">{value:.4f}</text>'
            f'<rect class="track" y="{top + 20}" width="100%" height="10" rx="2"/>'
            f'<rect class="{kind}" y="{top + 20}" width="{width}" height="10" rx="2"/>'
        )
    label = f'role="img" aria-label="{escape(title)}"'
    height = ROW * len(values) - 8
    return f'<h3>{escape(title)}</h3><svg height="{height}" {label}>{"".join(rows)}</svg>'


def signed_bars(title: str, values: Sequence[SignedBar]) -> str:
    """Return a chart of vertical bars above and below 0, in the given order."""
    heights = [bar.value for bar in values]
    ticks = _ticks(min(0.0, *heights), max(0.0, *heights))
    low, high = ticks[0], ticks[-1]

    def y(value: float) -> float:
        return 8 + (high - value) / (high - low) * (HEIGHT - 16)

    lines = (
        f'<line class="{"grid" if tick else "zero"}" x2="100%" y1="{y(tick):.1f}" '
        f'y2="{y(tick):.1f}"/>'
        for tick in ticks
    )
    labels = (
        f'<text class="value" x="100%" y="{y(tick) + 4:.1f}">'
        f"{f'{tick:+.4g}' if tick else '0'}</text>"
        for tick in ticks
    )
    rects = _rects([(y(bar.value), y(0)) for bar in values], values)
    return (
        f'<div class="plot"><svg height="{HEIGHT}" aria-hidden="true">{"".join(labels)}</svg>'
        f'<svg height="{HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"{''.join([*lines, *rects])}</svg></div>"
    )


def _rects(ends: list[tuple[float, float]], values: Sequence[SignedBar]) -> Iterator[str]:
    width = 100 / len(values)
    for number, (bar, (end, zero)) in enumerate(zip(values, ends, strict=True)):
        if bar.value:
            yield (
                f'<rect class="{"gain" if bar.value > 0 else "loss"}" '
                f'x="{number * width:.3f}%" width="{1.1 * width:.3f}%" '
                f'y="{min(end, zero):.1f}" height="{abs(end - zero):.1f}">'
                f"<title>{escape(bar.tooltip)}</title></rect>"
            )


def _ticks(low: float, high: float) -> list[float]:
    """Return up to ten round numbers, from at most ``low`` to at least ``high``."""
    span = (high - low) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 8))
    step = next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) <= 8)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [number * step for number in range(first, max(last, first + 1) + 1)]
