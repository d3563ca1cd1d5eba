"""``python -m spade_pyserini.report``: all about some runs as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spade_pyserini.cli import command
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.files import atomic_write, refuse_existing

if TYPE_CHECKING:
    pass

from spade_pyserini.analysis.report import html_report, sweep_figures

MODULE = "spade_pyserini.report"
EXAMPLE = """python -m spade_pyserini.report --qrels pydoc/test --topics pydoc/test \\
      --run runs/run.pydoc.bm25.pydoc-test.txt runs/run.pydoc.spade.pydoc-test.txt \\
      --output report.html"""


def main(arguments: list[str]) -> None:
    parser = command.parser(MODULE, "Write all about some runs into one HTML page.", EXAMPLE)
    add = parser.add_argument
    command.add_judged(parser)
    add("--run", required=True, nargs="+", metavar="FILE", help="one or more TREC runs")
    add("--baseline", metavar="RUN", help="compare the others with this one (default: the first)")
    add("--topics", metavar="NAME|FILE", help="show the texts of these topics")
    add("--sweep", action="append", default=[], metavar="DIR", help="show the figures of a folder")
    add("--breakdown", metavar="FILE", help="a table of spade_pyserini.breakdown --format csv")
    add("--title", metavar="TEXT", help="of the page (default: the name of the judgements)")
    add("--output", required=True, metavar="FILE", help="the page, .html")
    add("--overwrite", action="store_true", help="replace an existing page")
    options = parser.parse_args(arguments)
    command.log_to_stderr(options.verbose)
    output = Path(options.output)
    refuse_existing(output, options.overwrite)
    if options.baseline and options.baseline not in options.run:
        raise UsageError("--baseline is one of the files given with --run")

    from spade_pyserini.corpora.topics import read_topics
    from spade_pyserini.evaluate import parse_measures, read_runs
    from spade_pyserini.evaluate.comparison import short_names

    names = dict(zip(options.run, short_names(options.run), strict=True))
    qrels, level = command.judgements(options)
    made = html_report(
        qrels,
        read_runs(options.run, qrels),
        options.title or f"Runs on {options.qrels}",
        baseline=names[options.baseline] if options.baseline else None,
        measures=parse_measures(options.measure) if options.measure else None,
        level=level,
        topics=read_topics(options.topics) if options.topics else (),
        figures=[path for folder in options.sweep for path in sweep_figures(Path(folder))],
        breakdown=Path(options.breakdown) if options.breakdown else None,
    )
    with atomic_write(output) as stream:
        stream.write(made.encode())
    print(output)


if __name__ == "__main__":
    command.run(main)
