"""``python -m spade_pyserini.evaluate``: runs and judgements to a table of measures."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini import cli
from spade_pyserini.errors import InputError, NoCommonTopicError
from spade_pyserini.table import text_table

MODULE = "spade_pyserini.evaluate"
EXAMPLE = (
    "python -m spade_pyserini.evaluate --qrels pydoc-test "
    "--run runs/run.pydoc.bm25.pydoc-test.txt runs/run.pydoc.spade.pydoc-test.txt"
)


def main(arguments: list[str]) -> None:
    parser = cli.parser(MODULE, "Score TREC runs; topics without hits count as 0.", EXAMPLE)
    add = parser.add_argument
    add("--qrels", required=True, metavar="NAME|FILE", help="judgements, TREC's or BEIR's form")
    add("--run", required=True, nargs="+", metavar="FILE", help="one or more TREC runs")
    add(
        "--measure",
        "-m",
        nargs="+",
        metavar="NAME",
        help="ir_measures' or trec_eval's names (default: MRR@10 nDCG@10 MAP R@100 R@1000)",
    )
    options = parser.parse_args(arguments)
    cli.log_to_stderr(options.verbose)

    from spade_pyserini.evaluate import evaluate_run, parse_measures, read_qrels
    from spade_pyserini.evaluate.measures import DEFAULT_MEASURES, measure_name
    from spade_pyserini.search.run import read_run

    measures = parse_measures(options.measure) if options.measure else list(DEFAULT_MEASURES)
    qrels = read_qrels(options.qrels)
    rows = []
    for path in options.run:
        try:
            values = evaluate_run(qrels, read_run(path), measures)
        except NoCommonTopicError:
            raise InputError(
                f"no topic of this run has judgements in {options.qrels}", path
            ) from None
        rows.append([Path(path).name, *(f"{values[measure]:.4f}" for measure in measures)])
    print(text_table(["run", *map(measure_name, measures)], rows))
    print(f"{len(qrels)} topics with judgements; topics without hits count as 0")


if __name__ == "__main__":
    cli.run(main)
