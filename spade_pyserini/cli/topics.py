"""``spade topics``: write topics as terms, for plain Pyserini."""

from __future__ import annotations

import argparse
from pathlib import Path

from spade_pyserini.cli import arguments
from spade_pyserini.errors import UsageError

EXAMPLE = """spade topics --topics pydoc/test --index index/pydoc.spade-mini \\
      --output runs/topics.pydoc-test.wp.tsv"""


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade topics``."""
    description = (
        "Write the terms of each topic, for plain Pyserini: its distinct WordPieces or, for an "
        "index whose queries have weights, each term as often as its weight."
    )
    parser = arguments.new_parser("topics", description, EXAMPLE)
    add = parser.add_argument
    add("--topics", required=True, metavar="NAME|FILE", help=arguments.TOPICS_HELP)
    arguments.add_data_dir(parser)
    add("--output", required=True, metavar="FILE", help="a .tsv file, one topic per line")
    add("--index", metavar="DIR", help="use the tokenizer of this index")
    add("--tokenizer", metavar="PATH", help="use this tokenizer.json or model folder instead")
    add(
        "--query-encoder", metavar="NAME|PATH", help="the model that encodes the queries of --index"
    )
    add("--overwrite", action="store_true", help="replace an existing file")
    return parser


def run(options: argparse.Namespace) -> None:
    """Write the topics and print the path of the file."""
    if not options.output.endswith((".tsv", ".txt")):
        raise UsageError("--output must end with .tsv or .txt, or Pyserini cannot read it")
    if bool(options.index) == bool(options.tokenizer):
        raise UsageError("give either --index DIR or --tokenizer PATH")

    if options.query_encoder and not options.index:
        raise UsageError("--query-encoder needs --index DIR, the index to search")

    from spade_pyserini.cli.queries import query_model
    from spade_pyserini.corpora.topics import read_topics
    from spade_pyserini.index.opening import open_index_queries
    from spade_pyserini.models.queries import BooleanQueries, QueryEncoder
    from spade_pyserini.models.wordpieces import WordPieces
    from spade_pyserini.search.wordpiece_topics import write_encoded_topics

    topics = read_topics(options.topics, data_dir=options.data_dir)
    if options.index:
        model = query_model(options)
        queries: QueryEncoder = open_index_queries(Path(options.index), queries=model)
    else:
        queries = BooleanQueries(WordPieces.load(options.tokenizer))
    write_encoded_topics(topics, queries, options.output, options.overwrite)
    print(options.output)


if __name__ == "__main__":
    import sys

    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("topics"))
