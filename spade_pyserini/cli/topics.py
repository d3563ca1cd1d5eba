"""``spade topics``: write topics as terms, for plain Pyserini and other engines."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from spade_pyserini.cli import arguments
from spade_pyserini.errors import UsageError

if TYPE_CHECKING:
    from spade_pyserini.models.queries import QueryEncoder

EXAMPLE = """spade topics --topics pydoc/test --index index/pydoc.spade-mini \\
      --output runs/topics.pydoc-test.wp.tsv
  spade topics --topics pydoc/test --index index/pydoc.spade-mini --to opensearch \\
      --output runs/topics.pydoc-test.ndjson"""
PYSERINI = "pyserini"
SUFFIXES = {
    PYSERINI: (".tsv", ".txt"),
    "opensearch": (".ndjson", ".json"),
    "pisa": (".jsonl",),
    "milvus": (".jsonl",),
}


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade topics``."""
    description = (
        "Write the terms of each topic, for plain Pyserini or as the queries of another engine. "
        "The terms are the distinct WordPieces of the topic; if the queries of the index have "
        "weights, each term is written with its weight. For Pyserini, a term of weight n is "
        "written n times. For OpenSearch and Elasticsearch, the file is the body of an _msearch "
        "request; for PISA, it has PyTerrier's query_toks; for Milvus, it has sparse vectors."
    )
    parser = arguments.new_parser("topics", description, EXAMPLE)
    add = parser.add_argument
    arguments.add_topics(parser, required=True)
    arguments.add_data_dir(parser)
    add("--to", choices=SUFFIXES, default=PYSERINI, help="the engine")
    names = "; ".join(f"{engine}: {' or '.join(ends)}" for engine, ends in SUFFIXES.items())
    add("--output", required=True, metavar="FILE", help=f"file to write ({names})")
    add("--index", metavar="DIR", help="encode the topics as queries of this index")
    add("--tokenizer", metavar="PATH", help="instead of --index: a tokenizer.json or model folder")
    add(
        "--query-side",
        metavar="FILE",
        help="with --tokenizer: the file X.queries.json of an export whose queries have weights",
    )
    add(
        "--query-encoder",
        metavar="NAME|PATH",
        help="the model that encodes the queries of --index or --query-side",
    )
    add(
        "--field",
        choices=("rank_features", "sparse_vector"),
        help="opensearch: type of the field with the impacts (default: rank_features)",
    )
    add(
        "--hits",
        type=arguments.positive,
        metavar="N",
        help="opensearch: number of hits (default: 10)",
    )
    add("--with-text", action="store_true", help="opensearch: return titles and texts of hits")
    add("--overwrite", action="store_true", help="replace an existing file")
    return parser


def run(options: argparse.Namespace) -> None:
    """Write the topics and print the path of the file."""
    _check(options)

    from spade_pyserini.search.wordpiece_topics import write_encoded_topics

    topics = arguments.read_topics(options)
    queries = _queries(options)
    if options.to == PYSERINI:
        write_encoded_topics(topics, queries, options.output, options.overwrite)
    else:
        from spade_pyserini.export.queries import QueryOptions, write_queries

        chosen = {
            name: getattr(options, name) for name in ("field", "hits") if getattr(options, name)
        }
        form = QueryOptions(options.to, **chosen, with_text=options.with_text)
        write_queries(topics, queries, options.output, form, overwrite=options.overwrite)
    print(options.output)


def _queries(options: argparse.Namespace) -> QueryEncoder:
    """Return the query encoder of an index or of an export."""
    from spade_pyserini.cli.queries import query_model

    model = query_model(options)
    if options.index:
        from spade_pyserini.index.opening import open_index_queries

        return open_index_queries(Path(options.index), queries=model)
    from spade_pyserini.export.queries import read_queries

    return read_queries(options.tokenizer, options.query_side, model)


def _check(options: argparse.Namespace) -> None:
    """Raise `UsageError` if options do not fit together."""
    suffixes = SUFFIXES[options.to]
    if not options.output.endswith(suffixes):
        reason = "; Pyserini reads no other files" if options.to == PYSERINI else ""
        raise UsageError(f"--output must end with {' or '.join(suffixes)}{reason}")
    if bool(options.index) == bool(options.tokenizer):
        raise UsageError("give either --index DIR or --tokenizer PATH")
    if options.query_side and not options.tokenizer:
        raise UsageError("--query-side applies only with --tokenizer; leave it out with --index")
    if options.query_encoder and not (options.index or options.query_side):
        raise UsageError("--query-encoder needs --index DIR or --query-side FILE")
    if options.to != "opensearch" and (options.field or options.hits or options.with_text):
        raise UsageError("--field, --hits and --with-text apply only with --to opensearch")


if __name__ == "__main__":
    import sys

    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("topics"))
