"""``spade compare``: compare two runs topic by topic."""

from __future__ import annotations

import argparse
from pathlib import Path

from spade_pyserini.analysis.compare import (
    MEASURE,
    TopicDifference,
    compare_topics,
    extremes,
    t_test,
    tally,
)
from spade_pyserini.analysis.difference_figure import draw_differences, figure_format
from spade_pyserini.cli import arguments
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.outputs import refuse_existing
from spade_pyserini.formats.tables import counted, text_table

WIDEST = 60  # maximum number of characters shown of a topic's text
EXAMPLE = """spade compare runs/run.pydoc.bm25.pydoc-test.txt \\
      runs/run.pydoc.spade-mini.pydoc-test.txt --qrels pydoc/test --topics pydoc/test"""


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade compare``."""
    description = f"Compare two runs topic by topic on one measure (default: {MEASURE})."
    parser = arguments.new_parser("compare", description, EXAMPLE)
    add = parser.add_argument
    add("runs", nargs=2, metavar="RUN", help="two TREC runs: the baseline, then the candidate")
    arguments.add_judgements(parser, MEASURE)
    arguments.add_topics(parser, summary="show the texts of these topics")
    add(
        "--top",
        type=arguments.positive,
        default=10,
        metavar="N",
        help="show the N largest gains and the N largest losses",
    )
    add("--output", metavar="FIGURE", help="draw a figure with a bar for each topic: .png or .svg")
    add("--overwrite", action="store_true", help="replace an existing figure")
    return parser


def run(options: argparse.Namespace) -> None:
    """Print wins, ties and losses, and the topics that differ most."""
    output = Path(options.output) if options.output else None
    if output:
        figure_format(output)
        refuse_existing(output, options.overwrite)

    from spade_pyserini.evaluate import parse_measures, read_runs
    from spade_pyserini.evaluate.measures import measure_name
    from spade_pyserini.evaluate.unmatched import unmatched_warnings

    measures = parse_measures(options.measure or [MEASURE])
    if len(measures) != 1:
        raise UsageError("give one --measure: runs are compared on a single measure")
    topics = arguments.read_topics(options)
    qrels, level = arguments.read_judgements(options)
    runs = read_runs(options.runs, qrels)
    (baseline_name, baseline), (name, candidate) = runs.items()
    texts = {topic.qid: topic.text for topic in topics} if options.topics else None
    differences = compare_topics(qrels, baseline, candidate, measures[0], level)
    title = f"{measure_name(measures[0])} of {name} against {baseline_name}"
    print(f"{title}, {counted(len(differences), 'topic')}\n")
    print("\n".join([_summary(differences), *unmatched_warnings(qrels, runs, level)]))
    for heading, rows in zip(("gains", "losses"), extremes(differences, options.top), strict=True):
        if rows:
            print(f"\nlargest {heading}\n{_table(rows, texts)}")
    if output:
        caption = f"{measure_name(measures[0])}: {name} against {baseline_name}"
        draw_differences(differences, caption, output)
        print(f"\n{output}")


def _summary(differences: list[TopicDifference]) -> str:
    """Return wins, ties and losses, both means, and the result of a t-test.

    If no t-test is possible, the reason is returned instead of the p-value.
    """
    baseline = sum(topic.baseline for topic in differences) / len(differences)
    candidate = sum(topic.candidate for topic in differences) / len(differences)
    test = t_test(differences)
    result = test.untested if test.p is None else f"paired t-test p = {test.p:.2g}"
    wins, ties, losses = tally(differences)
    return (
        f"{wins} wins, {ties} ties, {losses} losses\n"
        f"mean {baseline:.4f} to {candidate:.4f}: {test.mean:+.4f}, {result}"
    )


def _table(differences: list[TopicDifference], texts: dict[str, str] | None) -> str:
    rows = [
        [topic.qid, f"{topic.baseline:.4f}", f"{topic.candidate:.4f}", f"{topic.difference:+.4f}"]
        for topic in differences
    ]
    if texts is None:
        return text_table(["topic", "baseline", "candidate", "difference"], rows)
    rows = [[*row, _short(texts.get(row[0], ""))] for row in rows]
    return text_table(["topic", "baseline", "candidate", "difference", "text"], rows, left=(0, 4))


def _short(text: str) -> str:
    """Return the text on one line, cut to ``WIDEST`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= WIDEST else f"{line[: WIDEST - 1]}…"


if __name__ == "__main__":
    import sys

    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("compare"))
