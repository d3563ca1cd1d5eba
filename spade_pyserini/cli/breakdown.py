"""``spade breakdown``: score runs by the term overlap of topics and relevant documents."""

from __future__ import annotations

import argparse
import logging

from spade_pyserini.analysis.breakdown import KINDS, MEASURES, kinds_of_topics
from spade_pyserini.cli import arguments
from spade_pyserini.errors import InputError
from spade_pyserini.formats.tables import FORMATS, render

EXAMPLE = """spade breakdown --corpus pydoc --topics pydoc/test --qrels pydoc/test \\
      --run runs/run.pydoc.bm25.pydoc-test.txt"""

logger = logging.getLogger(__name__)


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade breakdown``."""
    description = (
        "Score runs separately for three kinds of topics, as in Table 3 of the SpaDE paper. "
        "A topic is of the kind Match all if a relevant document has all terms of the topic. Any "
        "other topic is of the kind Match <=1 if no relevant document has more than one of its "
        "terms, else Match >1."
    )
    parser = arguments.new_parser("breakdown", description, EXAMPLE)
    add = parser.add_argument
    arguments.add_judgements(parser, " ".join(MEASURES))
    add("--run", required=True, nargs="+", metavar="FILE", help="one or more TREC runs")
    arguments.add_topics(parser, required=True)
    arguments.add_corpus(parser, required=True)
    add("--tokenizer", metavar="PATH", help="tokenizer.json or model folder (default: BERT's)")
    add("--format", choices=FORMATS, default="text", help="format of the table")
    return parser


def run(options: argparse.Namespace) -> None:
    """Print the measures of each run, in separate rows for each kind of topic."""
    from spade_pyserini.evaluate import compare_runs, parse_measures, read_runs
    from spade_pyserini.models.minilm import minilm_folder
    from spade_pyserini.models.wordpieces import WordPieces

    qrels, level = arguments.read_judgements(options)
    runs = read_runs(options.run, qrels)
    wordpieces = WordPieces.load(options.tokenizer or minilm_folder())
    topics = arguments.read_topics(options)
    judged = [topic for topic in topics if topic.qid in qrels]
    if not judged:
        message = f"no topic has judgements in {options.qrels}; give topics and qrels that match"
        raise InputError(message, options.topics)
    corpus = arguments.open_corpus(options)
    kinds = kinds_of_topics(judged, qrels, corpus, wordpieces, level)
    if not kinds:
        message = (
            f"the corpus has no document that {options.qrels} judges relevant for these topics; "
            "give the corpus that was judged"
        )
        raise InputError(message, options.corpus)
    rows = []
    measures = parse_measures(options.measure or list(MEASURES))
    for kind in KINDS:
        qrels_of_kind = {qid: qrels[qid] for qid in kinds if kinds[qid] == kind}
        if qrels_of_kind:
            comparison = compare_runs(qrels_of_kind, runs, measures, level=level, strict=False)
            title = f"{kind} ({len(qrels_of_kind)})"
            rows += [[title, *row] for row in comparison.rows()]
    print(render(["topics", *comparison.header()], rows, options.format, left=(0, 1)))
    missing = {
        f"are not in {options.topics}": len(qrels) - len(judged),
        f"have no relevant document in {options.corpus}": len(judged) - len(kinds),
    }
    for reason, count in missing.items():
        if count:
            logger.warning("%d judged topics %s; they are ignored", count, reason)


if __name__ == "__main__":
    import sys

    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("breakdown"))
