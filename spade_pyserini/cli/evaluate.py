"""``spade evaluate``: score runs against relevance judgements."""

from __future__ import annotations

import argparse
import logging

from spade_pyserini.cli import arguments
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.tables import FORMATS, render

logger = logging.getLogger(__name__)
EXAMPLE = """spade evaluate --qrels pydoc/test \\
      --run runs/run.pydoc.bm25.pydoc-test.txt runs/run.pydoc.spade-mini.pydoc-test.txt \\
      --baseline runs/run.pydoc.bm25.pydoc-test.txt"""


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade evaluate``."""
    description = "Score TREC runs. A judged topic without hits scores 0."
    parser = arguments.new_parser("evaluate", description, EXAMPLE)
    add = parser.add_argument
    arguments.add_judgements(parser)
    add("--run", required=True, nargs="+", metavar="FILE", help="one or more TREC runs")
    add(
        "--baseline",
        metavar="RUN",
        help="a file of --run, with which the other runs are compared by a paired t-test",
    )
    add("--per-query", action="store_true", help="print a line for each topic")
    add("--format", choices=FORMATS, default="text", help="format of the table")
    return parser


def run(options: argparse.Namespace) -> None:
    """Print the table of measures; with ``--format text``, also print how they were computed."""
    from spade_pyserini.evaluate import compare_runs, parse_measures, read_runs
    from spade_pyserini.evaluate.comparison import short_names
    from spade_pyserini.evaluate.conventions import conventions
    from spade_pyserini.evaluate.own_documents import own_documents
    from spade_pyserini.evaluate.unmatched import unmatched_warnings

    qrels, level = arguments.read_judgements(options)
    baseline = None
    if options.baseline:
        if options.baseline not in options.run:
            raise UsageError("--baseline must be one of the files of --run")
        baseline = short_names(options.run)[options.run.index(options.baseline)]
    measures = parse_measures(options.measure) if options.measure else None
    runs = read_runs(options.run, qrels)
    comparison = compare_runs(qrels, runs, measures, baseline=baseline, level=level)
    if options.per_query:
        print(render(*comparison.per_query(), options.format, left=(0, 1)))
    elif options.format in ("csv", "json"):
        print(render(*comparison.with_p_values(), options.format))
    else:
        print(render(comparison.header(), comparison.rows(), options.format))
    if options.format == "text":
        own = own_documents(runs.values(), options.qrels, data_dir=options.data_dir)
        tested = None if options.per_query else baseline  # rows of single topics have no marks
        print(conventions(comparison, qrels, runs, baseline=tested, own=own))
    else:
        for warning in unmatched_warnings(qrels, runs, level):
            logger.warning("%s", warning)
