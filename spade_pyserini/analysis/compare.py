"""``python -m spade_pyserini.compare``: two runs, topic by topic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from spade_pyserini.cli import command
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.files import atomic_write, refuse_existing
from spade_pyserini.formats.tables import text_table
from spade_pyserini.records import Ranking

if TYPE_CHECKING:
    from ir_measures import Measure

    from spade_pyserini.evaluate.significance import Difference

MODULE = "spade_pyserini.compare"
EXAMPLE = """python -m spade_pyserini.compare runs/run.pydoc.bm25.pydoc-test.txt \\
      runs/run.pydoc.spade.pydoc-test.txt --qrels pydoc/test --topics pydoc/test"""
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


def main(arguments: list[str]) -> None:
    description = f"Compare two runs topic by topic on one measure, {MEASURE} if none is named."
    parser = command.parser(MODULE, description, EXAMPLE)
    add = parser.add_argument
    add("runs", nargs=2, metavar="RUN", help="two TREC runs: what was, and what shall be better")
    command.add_judged(parser, MEASURE)
    add("--topics", metavar="NAME|FILE", help="show the texts of these topics")
    add(
        "--top",
        type=command.positive,
        default=10,
        metavar="N",
        help="topics shown in each direction",
    )
    add("--output", metavar="FIGURE", help="draw a bar for each topic: .png or .svg")
    add("--overwrite", action="store_true", help="replace an existing figure")
    options = parser.parse_args(arguments)
    command.log_to_stderr(options.verbose)
    output = Path(options.output) if options.output else None
    if output:
        figure_format(output)
        refuse_existing(output, options.overwrite)

    from spade_pyserini.corpora.topics import read_topics
    from spade_pyserini.evaluate import parse_measures, read_runs
    from spade_pyserini.evaluate.measures import measure_name

    measures = parse_measures(options.measure or [MEASURE])
    if len(measures) != 1:
        raise UsageError("two runs are compared on one --measure")
    qrels, level = command.judgements(options)
    (first, before), (second, after) = read_runs(options.runs, qrels).items()
    texts = {one.qid: one.text for one in read_topics(options.topics)} if options.topics else None
    found = query_differences(qrels, before, after, measures[0], level)
    print(f"{measure_name(measures[0])} of {second} against {first}, {len(found)} topics\n")
    print(_summary(found))
    for title, chosen in zip(("gains", "losses"), extremes(found, options.top), strict=True):
        if chosen:
            print(f"\nlargest {title}\n{_table(chosen, texts)}")
    if output:
        draw_differences(found, f"{measure_name(measures[0])}: {second} against {first}", output)
        print(f"\n{output}")


def _summary(found: list[QueryDifference]) -> str:
    means = [sum(values) / len(found) for values in zip(*(one[1:3] for one in found), strict=True)]
    tested = t_test(found)
    wins, ties, losses = tally(found)
    return (
        f"{wins} wins, {ties} ties, {losses} losses\n"
        f"mean {means[0]:.4f} to {means[1]:.4f}: {tested.mean:+.4f}, "
        f"paired t-test p = {tested.p:.2g}"
    )


def _table(chosen: list[QueryDifference], texts: dict[str, str] | None) -> str:
    rows = [
        [one.qid, f"{one.first:.4f}", f"{one.second:.4f}", f"{one.difference:+.4f}"]
        for one in chosen
    ]
    if texts is None:
        return text_table(["topic", "first", "second", "difference"], rows)
    rows = [[*row, _short(texts.get(row[0], ""))] for row in rows]
    return text_table(["topic", "first", "second", "difference", "text"], rows, left=(0, 4))


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= WIDEST else f"{flat[: WIDEST - 1]}…"


if __name__ == "__main__":
    command.run(main)
