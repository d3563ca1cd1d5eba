"""``python -m spade_pyserini.expand``: predicted queries for documents, as docT5query does."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from spade_pyserini.cli import command
from spade_pyserini.errors import (
    UsageError,
)

if TYPE_CHECKING:
    pass

from spade_pyserini.baselines.expand import expand_corpus
from spade_pyserini.baselines.query_generator import Sampling

MODULE = "spade_pyserini.expand"
EXAMPLE = """python -m spade_pyserini.expand --corpus pydoc --output encode/pydoc.queries.jsonl \\
      --model castorini/doc2query-t5-base-msmarco
  python -m spade_pyserini.encode --corpus pydoc --expansions encode/pydoc.queries.jsonl"""


def main(arguments: list[str]) -> None:
    parser = command.parser(MODULE, "Sample queries for documents with a seq2seq model.", EXAMPLE)
    add = parser.add_argument
    add("--corpus", required=True, metavar="NAME|PATH", help="a name, or a folder or file")
    add("--model", required=True, metavar="NAME|DIR", help="a seq2seq model: hub name or folder")
    add("--output", required=True, metavar="FILE", help="a .jsonl, for encode --expansions")
    one = Sampling()
    for flag, words in (
        ("--per-doc", "queries per document"),
        ("--max-length", "tokens of a document that are read"),
        ("--max-new-tokens", "tokens of a query, at most"),
        ("--batch-size", "documents per batch"),
        ("--shard-size", "documents between two saves"),
    ):
        default = getattr(one, flag[2:].replace("-", "_"))
        add(flag, type=command.positive, default=default, metavar="N", help=words)
    add(
        "--seed",
        type=command.whole_number(0, 2**31 - 1),
        default=one.seed,
        metavar="N",
        help="seed",
    )
    add("--overwrite", action="store_true", help="replace an existing output")
    command.add_data_dir(parser)
    options = parser.parse_args(arguments)
    command.log_to_stderr(options.verbose)
    if not options.output.endswith(".jsonl"):
        raise UsageError("--output must end with .jsonl: encode --expansions goes by the name")

    from spade_pyserini.corpora import open_corpus

    sampling = Sampling(**{name: getattr(options, name) for name in asdict(one)})
    expand_corpus(
        open_corpus(options.corpus), options.model, options.output, sampling, options.overwrite
    )
    print(options.output)


if __name__ == "__main__":
    command.run(main)
