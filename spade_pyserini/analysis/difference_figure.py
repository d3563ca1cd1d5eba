"""Draw the differences between the scores of two runs, a bar for each topic."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini.analysis.compare import TopicDifference
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.atomic import atomic_write

SUFFIXES = (".png", ".svg")
GAIN, LOSS = "#2f6fd0", "#d4691c"


def draw_differences(differences: list[TopicDifference], title: str, path: Path) -> None:
    """Draw a bar for each topic, largest gain first, as ``.png`` or ``.svg``."""
    from matplotlib.figure import Figure

    form = figure_format(path)
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    axes = figure.subplots()
    heights = [topic.difference for topic in differences]
    colours = [GAIN if height > 0 else LOSS for height in heights]
    axes.bar(range(1, len(heights) + 1), heights, width=1, color=colours)
    axes.margins(x=0.01)
    axes.axhline(0, color="0.3", linewidth=0.8)
    axes.set(xlabel="topics, largest gain first", ylabel="difference")
    axes.set_title(title, fontsize="medium", parse_math=False)
    axes.spines[["top", "right"]].set_visible(False)
    with atomic_write(path) as stream:
        figure.savefig(stream, format=form, dpi=150)


def figure_format(path: Path) -> str:
    """Return ``png`` or ``svg``, by the suffix of the file name; other suffixes are errors."""
    if path.suffix not in SUFFIXES:
        raise UsageError(f"{path}: the file name of a figure must end in {' or '.join(SUFFIXES)}")
    return path.suffix[1:]
