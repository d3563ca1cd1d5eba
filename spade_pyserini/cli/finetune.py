"""``spade finetune``: fine-tune a trained model on your own pairs."""

from __future__ import annotations

import argparse

from spade_pyserini.cli import arguments

EXAMPLE = """spade finetune --corpus nfcorpus --queries nfcorpus/train --qrels nfcorpus/train \\
      --dev-queries nfcorpus/dev --dev-qrels nfcorpus/dev --output my-model"""


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade finetune``."""
    description = (
        "Fine-tune a model on queries and their relevant documents. Hard negatives come from BM25; "
        "without --dev-qrels, a part of the queries is held out to validate on."
    )
    parser = arguments.new_parser("finetune", description, EXAMPLE)
    add = parser.add_argument
    add("--model", default="spade-mini", metavar="NAME|DIR", help="the model to start from")
    add("--corpus", required=True, metavar="NAME|PATH", help=arguments.CORPUS_HELP)
    add("--queries", required=True, metavar="NAME|FILE", help=arguments.TOPICS_HELP)
    add("--qrels", required=True, metavar="NAME|FILE", help="a split, or a TREC or BEIR qrels file")
    add("--dev-queries", metavar="NAME|FILE", help="queries to validate on")
    add("--dev-qrels", metavar="NAME|FILE", help="judgements to validate on")
    add(
        "--steps",
        type=arguments.positive,
        metavar="N",
        help="number of steps (default: four passes over the pairs, from 40 to 600 steps)",
    )
    add("--seed", type=int, default=0, metavar="N", help="seed of the order of the pairs")
    arguments.add_data_dir(parser)
    add("--output", required=True, metavar="DIR", help="the model is written to DIR/best")
    add(
        "--resume",
        action="store_true",
        help="never start a new run, only continue one in DIR",
    )
    return parser


def run(options: argparse.Namespace) -> None:
    """Fine-tune, then print the measures of BM25 and of the model before and after."""
    from spade_pyserini.formats.tables import text_table
    from spade_pyserini.train.finetune import FinetuneOptions, finetune

    settings = FinetuneOptions(
        corpus=options.corpus,
        queries=options.queries,
        qrels=options.qrels,
        dev_queries=options.dev_queries,
        dev_qrels=options.dev_qrels,
        model=options.model,
        steps=options.steps,
        seed=options.seed,
    )
    result = finetune(settings, options.output, resume=options.resume, data_dir=options.data_dir)
    rows = [[row.system, f"{row.mrr:.4f}", f"{row.ndcg:.4f}"] for row in result.rows]
    print(text_table(["dev queries", "MRR@10", "nDCG@10"], rows))
    print(
        f"{result.queries} queries, exact scores of {result.documents} documents: "
        "the judged ones and BM25's first hits"
    )
    print(result.model)


if __name__ == "__main__":
    import sys

    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("finetune"))
