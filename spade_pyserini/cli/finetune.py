"""``spade finetune``: fine-tune a trained model on your own pairs."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path

from spade_pyserini.cli import arguments

EXAMPLE = """spade finetune --corpus pydoc --queries pydoc/dev --qrels pydoc/dev --output my-model
  spade finetune --pairs my-pairs.csv --output my-model
  spade finetune --corpus my-products.csv --pairs my-clicks.csv --output my-model"""


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade finetune``."""
    description = (
        "Fine-tune a model on queries and their relevant documents. Hard negatives come from BM25; "
        "without --dev-qrels, a part of the queries is held out to validate on. --id-field, "
        "--title-field and --text-fields are columns of --corpus or, without it, of --pairs."
    )
    parser = arguments.new_parser("finetune", description, EXAMPLE)
    add = parser.add_argument
    add("--model", default="spade-mini", metavar="NAME|DIR", help="the model to start from")
    arguments.add_corpus(parser)
    add(
        "--pairs",
        metavar="FILE|DIR",
        help="pairs of a query and a relevant text, or the id of a document in --corpus: .csv, "
        ".tsv, .jsonl, .json or .parquet; without --corpus, the texts are the documents",
    )
    add("--query-field", metavar="COLUMN", help="column of the queries in --pairs")
    add("--queries", metavar="NAME|FILE", help=f"instead of --pairs: {arguments.TOPICS_HELP}")
    add("--qrels", metavar="NAME|FILE", help=f"judgements of --queries: {arguments.QRELS_HELP}")
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
        help="warn if there is no run to continue; runs are continued without it, too",
    )
    return parser


def run(options: argparse.Namespace) -> None:
    """Fine-tune, then print the measures of BM25 and of the model before and after."""
    from spade_pyserini.train.finetune_options import FinetuneOptions, prepare_inputs

    values = {field.name: getattr(options, field.name) for field in fields(FinetuneOptions)}
    settings = FinetuneOptions(**{**values, "text_fields": tuple(options.text_fields)})
    output, data_dir = Path(options.output), options.data_dir
    inputs = prepare_inputs(settings, output, data_dir)  # before torch is loaded

    from spade_pyserini.formats.tables import text_table
    from spade_pyserini.train.finetune import finetune

    result = finetune(settings, output, resume=options.resume, data_dir=data_dir, inputs=inputs)
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
