"""``spade finetune``: fine-tune a trained model on your own pairs of query and document."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from spade_pyserini.cli import arguments

if TYPE_CHECKING:
    from spade_pyserini.evaluate.significance import PairedTest
    from spade_pyserini.train.finetune import FinetuneResult
    from spade_pyserini.train.finetune_options import FinetuneInputs

EXAMPLE = """spade finetune --corpus pydoc --queries pydoc/dev --qrels pydoc/dev --output my-model
  spade finetune --pairs my-pairs.csv --output my-model
  spade finetune --corpus my-products.csv --pairs my-clicks.csv --output my-model"""


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade finetune``."""
    description = (
        "Fine-tune a model on queries and their relevant documents. Hard negatives come from BM25; "
        "without --dev-qrels, a part of the queries is held out for validation. --id-field, "
        "--title-field and --text-fields name columns of --corpus or, without it, of --pairs."
    )
    parser = arguments.new_parser("finetune", description, EXAMPLE)
    add = parser.add_argument
    add("--model", default="spade-mini", metavar="NAME|DIR", help="the model to start from")
    arguments.add_corpus(parser)
    add(
        "--pairs",
        metavar="FILE|DIR",
        help="a .csv, .tsv, .jsonl, .json or .parquet file of pairs, or a folder of such files; a "
        "pair is a query and a relevant text or, with --corpus, a query and the id of a relevant "
        "document; without --corpus, the texts are the documents",
    )
    add("--queries", metavar="NAME|FILE", help=f"instead of --pairs: {arguments.TOPICS_HELP}")
    add("--qrels", metavar="NAME|FILE", help=f"judgements of --queries: {arguments.QRELS_HELP}")
    add("--dev-queries", metavar="NAME|FILE", help="queries for validation")
    add("--dev-qrels", metavar="NAME|FILE", help="judgements for validation")
    arguments.add_fields(parser, ["query_id_field"], "--queries")
    arguments.add_fields(parser, ["query_field"], "--queries or --pairs")
    arguments.add_fields(parser, ["qrels_query_field"], "--qrels")
    arguments.add_fields(parser, ["qrels_doc_field", "qrels_grade_field"], "--qrels or --pairs")
    add(
        "--steps",
        type=arguments.positive,
        metavar="N",
        help="number of steps (default: four passes over the pairs, but at least 40 and at most "
        "600 steps)",
    )
    add("--seed", type=int, default=0, metavar="N", help="seed of the random order of the pairs")
    add(
        "--precision",
        choices=("fp32", "bf16"),
        help="number format of matrix products (default: bf16 if it is faster on this machine)",
    )
    arguments.add_data_dir(parser)
    add("--output", required=True, metavar="DIR", help="the model is written to DIR/best")
    add(
        "--resume",
        action="store_true",
        help="warn if DIR has no interrupted run; with or without this option, an interrupted run "
        "is continued",
    )
    return parser


def run(options: argparse.Namespace) -> None:
    """Fine-tune, then print the measures of BM25 and of the model before and after training."""
    from spade_pyserini.train.finetune_options import FinetuneOptions, prepare_inputs

    values = {field.name: getattr(options, field.name) for field in fields(FinetuneOptions)}
    settings = FinetuneOptions(**{**values, "text_fields": tuple(options.text_fields)})
    output, data_dir = Path(options.output), options.data_dir
    inputs = prepare_inputs(settings, output, data_dir)  # report mistakes before loading torch

    from spade_pyserini.formats.tables import text_table
    from spade_pyserini.train.finetune import finetune

    result = finetune(settings, output, resume=options.resume, data_dir=data_dir, inputs=inputs)
    rows = [[row.system, f"{row.mrr:.4f}", f"{row.ndcg:.4f}"] for row in result.rows]
    print(text_table(["dev queries", "MRR@10", "nDCG@10"], rows))
    print(
        f"{result.queries} dev queries, each scored against {result.documents} documents: "
        "the judged ones and BM25's first hits"
    )
    print(_verdict(result, settings.model))
    print("\nTo search the documents with the fine-tuned model and measure the run:\n")
    for words in next_commands(inputs, output, data_dir):
        print(f"spade {shlex.join(words)}")
    print(f"\n{result.model}")


def _verdict(result: FinetuneResult, model: str) -> str:
    """Return a sentence that says whether the training has improved the model."""
    if result.gain > 0:
        rise = f"the result is better than {model} on these queries: MRR@10 rose by"
        rise = f"{rise} {result.gain:.4f}{_significance(result.test)}"
        return f"{rise}; the checkpoint was chosen on the same queries, so measure on others, too"
    guide = "see the guide (docs/guide/fine-tuning.md)"
    return f"the result is not better than {model} on these queries: keep using {model}, or {guide}"


def _significance(test: PairedTest | None) -> str:
    """Return what a paired t-test says about a rise of MRR@10."""
    if test is None:
        return ""
    if test.p is None:
        return f" ({test.untested})"
    shown = f"(p = {test.p:.2g} in a paired t-test)"
    return f" {shown}" if test.significant else f", but this may be chance {shown}"


def next_commands(inputs: FinetuneInputs, output: Path, data_dir: str | None) -> list[list[str]]:
    """Return the commands that encode, index, search and evaluate with the fine-tuned model."""
    from spade_pyserini.corpora.topics import topics_name
    from spade_pyserini.formats.paths import safe_file_name
    from spade_pyserini.train.finetune_options import dev_files

    source = inputs.corpus
    columns = [] if source.id_field is None else ["--id-field", source.id_field]
    columns += [] if source.title_field is None else ["--title-field", source.title_field]
    columns += ["--text-fields", *source.text_fields] if source.text_fields else []
    lookup = ["--data-dir", str(data_dir)] if data_dir else []
    topics, qrels = dev_files(inputs, output)
    name = f"{source.open(data_dir).name}.{output.resolve().name}"
    vectors, index = f"encode/{name}", f"index/{name}"
    run = f"runs/run.{name}.{safe_file_name(topics_name(topics, data_dir=data_dir))}.txt"
    model = ["--model", str(output / "best"), "--output", vectors]
    return [
        ["encode", "--corpus", source.corpus, *columns, *lookup, *model],
        ["index", "--input", vectors],
        ["search", "--index", index, "--topics", topics, *lookup],
        ["evaluate", "--qrels", qrels, "--run", run, *lookup],
    ]


if __name__ == "__main__":
    import sys

    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("finetune"))
