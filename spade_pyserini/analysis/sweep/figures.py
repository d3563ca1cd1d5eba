"""Figures of a sweep: each parameter on its own, and effectiveness against latency."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from spade_pyserini.analysis.sweep.results import PARAMETERS, Row
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.paths import remove

FORMS = ("png", "svg")
LATENCY, SIZE = "ms per query", "index MB"
LARGEST = 400  # area of the point for the largest index, in square points


def draw_figures(rows: list[Row], measure: str, folder: Path) -> list[Path]:
    """Draw a figure for each parameter that varies, and ``tradeoff``, as PNG and SVG.

    Returns the paths of the files.
    """
    varying = [name for name in PARAMETERS if len({row[name] for row in rows}) > 1]
    figures = {name: _over(name, rows, varying, measure) for name in varying}
    figures["tradeoff"] = _tradeoff(rows, varying, measure)
    for name in {*PARAMETERS} - figures.keys():  # remove the figures of an earlier sweep
        for form in FORMS:
            remove(folder / f"{name}.{form}")
    paths = []
    for name, figure in figures.items():
        for form in FORMS:
            path = folder / f"{name}.{form}"
            with atomic_write(path) as stream:
                figure.savefig(stream, format=form, dpi=150)
            paths.append(path)
    return paths


def _over(name: str, rows: list[Row], varying: list[str], measure: str) -> Figure:
    """Draw effectiveness, latency and size over a parameter.

    There is a line for each combination of the other parameters.
    """
    figure = Figure(figsize=(6.4, 7), layout="constrained")
    panels = figure.subplots(3, 1, sharex=True)
    others = [other for other in varying if other != name]
    for label, group in _groups(rows, others).items():
        group.sort(key=lambda row: row[name])
        for panel, column in zip(panels, (measure, LATENCY, SIZE), strict=True):
            values = [row[column] for row in group]
            panel.plot([row[name] for row in group], values, "o-", label=label)
            panel.set_ylabel(column)
            panel.grid(alpha=0.3)
    for panel in panels[1:]:
        panel.set_ylim(bottom=0)
    panels[-1].set_xlabel(name)
    if others:
        panels[0].legend(fontsize="small")
    return figure


def _tradeoff(rows: list[Row], varying: list[str], measure: str) -> Figure:
    """Draw the paper's Figure 1: effectiveness over latency; a point's area is the index size."""
    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    panel = figure.subplots()
    largest = max(row[SIZE] for row in rows) or 1.0
    first, others = varying[:1], varying[1:]
    for label, group in _groups(rows, others).items():
        areas = [LARGEST * row[SIZE] / largest for row in group]
        points = [row[LATENCY] for row in group], [row[measure] for row in group]
        panel.scatter(*points, s=areas, alpha=0.5, label=label)
        for row in group:
            text = _label(row, first)
            panel.annotate(text, (row[LATENCY], row[measure]), fontsize=7, ha="center", va="center")
    panel.set(xlabel=LATENCY, ylabel=measure, title=f"area: index size, at most {largest:.3g} MB")
    panel.margins(0.12)
    panel.grid(alpha=0.3)
    if others:
        panel.legend(fontsize="small")
    return figure


def _groups(rows: list[Row], names: list[str]) -> dict[str, list[Row]]:
    """Return groups of rows with equal values of these parameters, by label."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(_label(row, names), []).append(row)
    return groups


def _label(row: Row, names: list[str]) -> str:
    return ", ".join(f"{name} {row[name]:g}" for name in names)
