"""``spade report``: write an HTML report on one or more runs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from spade_pyserini.analysis.report import (
    ReportOptions,
    html_report,
    run_labels,
    sweep_figures,
)
from spade_pyserini.cli import arguments
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.outputs import refuse_existing

if TYPE_CHECKING:
    from spade_pyserini.records import FindDocuments

EXAMPLE = """spade report --qrels pydoc/test --topics pydoc/test \\
      --run runs/run.pydoc.bm25.pydoc-test.txt runs/run.pydoc.spade-mini.pydoc-test.txt \\
      --corpus pydoc --output report.html"""


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade report``."""
    parser = arguments.new_parser("report", "Write an HTML report on one or more runs.", EXAMPLE)
    add = parser.add_argument
    arguments.add_judgements(parser)
    add("--run", required=True, nargs="+", metavar="FILE", help="one or more TREC runs")
    add(
        "--baseline",
        metavar="RUN",
        help="run that each of the other runs is compared with: one of the files of --run, such as "
        "the run of the system in use, or of BM25 (default: the first)",
    )
    arguments.add_topics(parser, summary="show the texts of these topics")
    arguments.add_corpus(parser, summary="show the texts of documents from this corpus")
    add(
        "--index",
        metavar="DIR",
        help="show the texts of documents from the corpus of this index; use this option instead "
        "of --corpus and the options that name columns",
    )
    add(
        "--sweep",
        action="append",
        default=[],
        metavar="DIR",
        help="show the figures of an output folder of `spade sweep`",
    )
    add("--breakdown", metavar="FILE", help="output of `spade breakdown --format csv`")
    add("--title", metavar="TEXT", help="title of the page (default: the models and the topics)")
    add("--output", required=True, metavar="FILE", help="the .html file to write")
    add("--overwrite", action="store_true", help="replace an existing page")
    return parser


def run(options: argparse.Namespace) -> None:
    """Write the page and print its path."""
    output = Path(options.output)
    refuse_existing(output, options.overwrite)
    if options.baseline and options.baseline not in options.run:
        raise UsageError("--baseline must be one of the files of --run")
    if options.index and options.corpus:
        raise UsageError("give either --index or --corpus")

    from spade_pyserini.corpora.topics import topics_name
    from spade_pyserini.evaluate import parse_measures, read_runs
    from spade_pyserini.evaluate.own_documents import own_documents

    data_dir = options.data_dir
    topics = arguments.read_topics(options)
    qrels, level = arguments.read_judgements(options)
    find = _finder(options)
    rankings = read_runs(options.run, qrels).values()
    labels = run_labels(options.run)
    name = topics_name(options.topics or options.qrels, data_dir=data_dir)
    contents = ReportOptions(
        baseline=labels[options.run.index(options.baseline)] if options.baseline else None,
        measures=parse_measures(options.measure) if options.measure else None,
        level=level,
        topics=topics,
        topics_name=name,
        find=find,
        own=own_documents(rankings, options.qrels, data_dir=data_dir),
        figures=[path for folder in options.sweep for path in sweep_figures(Path(folder))],
        breakdown=Path(options.breakdown) if options.breakdown else None,
    )
    title = options.title or f"{' and '.join(labels)} on {name}"
    page = html_report(qrels, dict(zip(labels, rankings, strict=True)), title, contents)
    with atomic_write(output) as stream:
        stream.write(page.encode())
    print(output)


def _finder(options: argparse.Namespace) -> FindDocuments | None:
    """Return a function that finds documents by id, or None if no corpus is given."""
    from spade_pyserini.formats.index_manifest import IndexManifest
    from spade_pyserini.search.texts import Texts, remembered_corpora

    if options.corpus:
        return Texts([arguments.open_corpus(options)]).find
    if options.index:
        manifest = IndexManifest.load(Path(options.index))
        return Texts(remembered_corpora(manifest, data_dir=options.data_dir)).find
    return None


if __name__ == "__main__":
    import sys

    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("report"))
