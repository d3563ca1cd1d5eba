"""``spade expand``: predict queries for documents, as docT5query does, or terms with TILDE."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from spade_pyserini.baselines.query_generator import Sampling
from spade_pyserini.cli import arguments
from spade_pyserini.errors import UsageError

EXAMPLE = """spade expand --corpus pydoc --output encode/pydoc.queries.jsonl \\
      --model castorini/doc2query-t5-base-msmarco
  spade encode --corpus pydoc --expansions encode/pydoc.queries.jsonl \\
      --output encode/pydoc.expanded"""


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade expand``."""
    description = "Sample queries for documents with a seq2seq model, or predict terms with TILDE."
    parser = arguments.new_parser("expand", description, EXAMPLE)
    add = parser.add_argument
    arguments.add_corpus(parser, required=True)
    summary = "seq2seq model by hub name or folder, or the folder of a TILDE model"
    add("--model", required=True, metavar="NAME|DIR", help=summary)
    add("--output", required=True, metavar="FILE", help="a .jsonl file, for encode --expansions")
    defaults = Sampling()
    for flag, summary in (
        ("--per-doc", "number of queries (with TILDE: terms) per document"),
        ("--max-length", "maximum number of tokens read from a document"),
        ("--max-new-tokens", "maximum number of tokens in a query"),
        ("--batch-size", "documents per batch"),
        ("--shard-size", "number of documents after which the queries are saved"),
    ):
        default = getattr(defaults, flag[2:].replace("-", "_"))
        add(flag, type=arguments.positive, default=default, metavar="N", help=summary)
    add(
        "--seed",
        type=arguments.integer(0, 2**31 - 1),
        default=defaults.seed,
        metavar="N",
        help="seed of the sampling",
    )
    add("--overwrite", action="store_true", help="replace an existing output")
    arguments.add_data_dir(parser)
    return parser


def run(options: argparse.Namespace) -> None:
    """Write the predicted queries and print the path of the file."""
    if not options.output.endswith(".jsonl"):
        raise UsageError("--output must end with .jsonl; the file is for encode --expansions")

    from spade_pyserini.models.hub import check_hugging_face

    sampling = Sampling(**{name: getattr(options, name) for name in asdict(Sampling())})
    corpus = arguments.open_corpus(options)
    check_hugging_face("seq2seq model", options.model)

    from spade_pyserini.baselines.expand import expand_corpus

    expand_corpus(corpus, options.model, options.output, sampling, options.overwrite)
    print(options.output)


if __name__ == "__main__":
    import sys

    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("expand"))
