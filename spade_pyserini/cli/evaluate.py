"""``python -m spade_pyserini.evaluate``: runs and judgements to a table of measures."""

from __future__ import annotations

from spade_pyserini.cli import command
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.tables import FORMATS, render

MODULE = "spade_pyserini.evaluate"
EXAMPLE = """python -m spade_pyserini.evaluate --qrels pydoc/test \\
      --run runs/run.pydoc.bm25.pydoc-test.txt runs/run.pydoc.spade.pydoc-test.txt \\
      --baseline runs/run.pydoc.bm25.pydoc-test.txt"""


def main(arguments: list[str]) -> None:
    parser = command.parser(MODULE, "Score TREC runs; topics without hits count as 0.", EXAMPLE)
    add = parser.add_argument
    command.add_judged(parser)
    add("--run", required=True, nargs="+", metavar="FILE", help="one or more TREC runs")
    add("--baseline", metavar="RUN", help="test the others against this one of the runs")
    add("--per-query", action="store_true", help="a line for each topic")
    add("--format", choices=FORMATS, default="text")
    options = parser.parse_args(arguments)
    command.log_to_stderr(options.verbose)

    from spade_pyserini.evaluate import compare_runs, parse_measures, read_runs
    from spade_pyserini.evaluate.comparison import short_names
    from spade_pyserini.evaluate.conventions import conventions

    qrels, level = command.judgements(options)
    baseline = None
    if options.baseline:
        if options.baseline not in options.run:
            raise UsageError("--baseline is one of the files given with --run")
        baseline = short_names(options.run)[options.run.index(options.baseline)]
    measures = parse_measures(options.measure) if options.measure else None
    runs = read_runs(options.run, qrels)
    found = compare_runs(qrels, runs, measures, baseline=baseline, level=level)
    if options.per_query:
        print(render(*found.per_query(), options.format, left=(0, 1)))
    else:
        print(render(found.header(), found.rows(), options.format))
    if options.format == "text":
        print(conventions(qrels, runs, level=level, baseline=baseline))


if __name__ == "__main__":
    command.run(main)
