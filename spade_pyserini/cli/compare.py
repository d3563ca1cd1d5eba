"""``python -m spade_pyserini.compare``: two runs, topic by topic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spade_pyserini.cli import command
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.files import refuse_existing
from spade_pyserini.formats.tables import text_table

if TYPE_CHECKING:
    pass

from spade_pyserini.analysis.compare import (
    MEASURE,
    WIDEST,
    QueryDifference,
    draw_differences,
    extremes,
    figure_format,
    query_differences,
    t_test,
    tally,
)

MODULE = "spade_pyserini.compare"
EXAMPLE = """python -m spade_pyserini.compare runs/run.pydoc.bm25.pydoc-test.txt \\
      runs/run.pydoc.spade.pydoc-test.txt --qrels pydoc/test --topics pydoc/test"""


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
