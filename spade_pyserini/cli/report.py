"""``spade report``: one HTML page about several runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from spade_pyserini.analysis.report import ReportOptions, html_report, sweep_figures
from spade_pyserini.cli import arguments
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.outputs import refuse_existing

EXAMPLE = """spade report --qrels pydoc/test --topics pydoc/test \\
      --run runs/run.pydoc.bm25.pydoc-test.txt runs/run.pydoc.spade-mini.pydoc-test.txt \\
      --output report.html"""


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade report``."""
    parser = arguments.new_parser("report", "Write one HTML page about several runs.", EXAMPLE)
    add = parser.add_argument
    arguments.add_judgements(parser)
    add("--run", required=True, nargs="+", metavar="FILE", help="one or more TREC runs")
    add("--baseline", metavar="RUN", help="compare the other runs with it (default: the first)")
    add("--topics", metavar="NAME|FILE", help="show the texts of these topics")
    add("--sweep", action="append", default=[], metavar="DIR", help="show the figures of a sweep")
    add("--breakdown", metavar="FILE", help="output of `spade breakdown --format csv`")
    add("--title", metavar="TEXT", help="title of the page (default: the name of the judgements)")
    add("--output", required=True, metavar="FILE", help="the page, .html")
    add("--overwrite", action="store_true", help="replace an existing page")
    return parser


def run(options: argparse.Namespace) -> None:
    """Write the page and print its path."""
    output = Path(options.output)
    refuse_existing(output, options.overwrite)
    if options.baseline and options.baseline not in options.run:
        raise UsageError("--baseline must be one of the files of --run")

    from spade_pyserini.corpora.topics import read_topics
    from spade_pyserini.evaluate import parse_measures, read_runs
    from spade_pyserini.evaluate.comparison import short_names

    names = dict(zip(options.run, short_names(options.run), strict=True))
    qrels, level = arguments.read_judgements(options)
    topics = read_topics(options.topics, data_dir=options.data_dir) if options.topics else ()
    contents = ReportOptions(
        baseline=names[options.baseline] if options.baseline else None,
        measures=parse_measures(options.measure) if options.measure else None,
        level=level,
        topics=topics,
        figures=[path for folder in options.sweep for path in sweep_figures(Path(folder))],
        breakdown=Path(options.breakdown) if options.breakdown else None,
    )
    title = options.title or f"Runs on {options.qrels}"
    page = html_report(qrels, read_runs(options.run, qrels), title, contents)
    with atomic_write(output) as stream:
        stream.write(page.encode())
    print(output)


if __name__ == "__main__":
    import sys

    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("report"))
