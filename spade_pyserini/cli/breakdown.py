"""``python -m spade_pyserini.breakdown``: measures by how many terms topics and answers share."""

from __future__ import annotations

import logging

from spade_pyserini.analysis.breakdown import KINDS, MEASURES, kinds_of_topics
from spade_pyserini.cli import command
from spade_pyserini.errors import InputError
from spade_pyserini.formats.tables import FORMATS, render
from spade_pyserini.models.wordpieces import WordPieces

MODULE = "spade_pyserini.breakdown"
EXAMPLE = """python -m spade_pyserini.breakdown --corpus pydoc --topics pydoc/test \\
      --qrels pydoc/test --run runs/run.pydoc.bm25.pydoc-test.txt"""

logger = logging.getLogger(MODULE)


def main(arguments: list[str]) -> None:
    parser = command.parser(
        MODULE, "Score runs by how many terms topics and answers share.", EXAMPLE
    )
    add = parser.add_argument
    command.add_judged(parser, " ".join(MEASURES))
    add("--run", required=True, nargs="+", metavar="FILE", help="one or more TREC runs")
    add("--topics", required=True, metavar="NAME|FILE", help="as for spade_pyserini.search")
    add("--corpus", required=True, metavar="NAME|PATH", help="as for spade_pyserini.encode")
    add("--tokenizer", metavar="PATH", help="tokenizer.json or model folder (default: BERT's)")
    add("--format", choices=FORMATS, default="text")
    options = parser.parse_args(arguments)
    command.log_to_stderr(options.verbose)

    from spade_pyserini.corpora import open_corpus
    from spade_pyserini.corpora.topics import read_topics
    from spade_pyserini.evaluate import compare_runs, parse_measures, read_runs
    from spade_pyserini.models.minilm import minilm_folder

    qrels, level = command.judgements(options)
    runs = read_runs(options.run, qrels)
    wordpieces = WordPieces.load(options.tokenizer or minilm_folder())
    topics = [topic for topic in read_topics(options.topics) if topic.qid in qrels]
    if not topics:
        raise InputError(f"no topic has judgements in {options.qrels}", options.topics)
    kinds = kinds_of_topics(topics, qrels, open_corpus(options.corpus), wordpieces, level)
    if not kinds:
        message = f"no relevant document of {options.qrels} is in it, for any of these topics"
        raise InputError(message, options.corpus)
    rows = []
    measures = parse_measures(options.measure or list(MEASURES))
    for kind in KINDS:
        chosen = {qid: qrels[qid] for qid, found in kinds.items() if found == kind}
        if chosen:
            compared = compare_runs(chosen, runs, measures, level=level, strict=False)
            rows += [[f"{kind} ({len(chosen)})", *row] for row in compared.rows()]
    print(render(["topics", *compared.header()], rows, options.format, left=(0, 1)))
    reasons = {
        f"are not in {options.topics}": len(qrels) - len(topics),
        f"have no relevant document in {options.corpus}": len(topics) - len(kinds),
    }
    for reason, left_out in reasons.items():
        if left_out:
            logger.warning("%d judged topics %s and are left out", left_out, reason)


if __name__ == "__main__":
    command.run(main)
