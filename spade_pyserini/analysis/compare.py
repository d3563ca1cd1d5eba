"""Two runs, topic by topic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from spade_pyserini.errors import UsageError
from spade_pyserini.formats.files import atomic_write
from spade_pyserini.records import Ranking

if TYPE_CHECKING:
    from ir_measures import Measure

    from spade_pyserini.evaluate.significance import Difference

MEASURE = "nDCG@10"
SUFFIXES = (".png", ".svg")
GAIN, LOSS = "#2f6fd0", "#d4691c"
WIDEST = 60  # letters of a topic's text


class QueryDifference(NamedTuple):
    """A topic's value in both runs; the difference is above 0 where the second run is better."""

    qid: str
    first: float
    second: float
    difference: float


class Tally(NamedTuple):
    """On how many topics the second run is better, the same, worse."""

    wins: int
    ties: int
    losses: int


def query_differences(
    qrels: dict[str, dict[str, int]],
    first: list[Ranking],
    second: list[Ranking],
    measure: Measure,
    level: int = 1,
) -> list[QueryDifference]:
    """Every topic that has judgements, from the second run's largest gain to its largest loss."""
    from spade_pyserini.evaluate.measures import at_level, evaluate_queries

    wanted = at_level(measure, level)
    before, after = (evaluate_queries(qrels, run, [wanted])[wanted] for run in (first, second))
    return differences(before, after)


def differences(first: dict[str, float], second: dict[str, float]) -> list[QueryDifference]:
    """The same from values by topic."""
    found = [
        QueryDifference(qid, first[qid], second[qid], second[qid] - first[qid]) for qid in first
    ]
    return sorted(found, key=lambda one: (-one.difference, one.qid))


def tally(found: list[QueryDifference]) -> Tally:
    wins = sum(one.difference > 0 for one in found)
    losses = sum(one.difference < 0 for one in found)
    return Tally(wins, len(found) - wins - losses, losses)


def extremes(
    found: list[QueryDifference], top: int
) -> tuple[list[QueryDifference], list[QueryDifference]]:
    """The largest gains and the largest losses, each from its largest on."""
    gains = [one for one in found if one.difference > 0]
    losses = [one for one in reversed(found) if one.difference < 0]
    return gains[:top], losses[:top]


def t_test(found: list[QueryDifference]) -> Difference:
    """The paired t-test over the topics."""
    from spade_pyserini.evaluate.significance import paired_t_test

    first = {one.qid: one.first for one in found}
    return paired_t_test(first, {one.qid: one.second for one in found})


def draw_differences(found: list[QueryDifference], title: str, path: Path) -> None:
    """A bar for each topic, largest gain first, as ``.png`` or ``.svg``."""
    from matplotlib.figure import Figure

    form = figure_format(path)
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    axes = figure.subplots()
    heights = [one.difference for one in found]
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
    """``png`` or ``svg``, by the end of the name; another end is an error."""
    if path.suffix not in SUFFIXES:
        raise UsageError(f"{path}: the name of a figure ends in {' or '.join(SUFFIXES)}")
    return path.suffix[1:]
