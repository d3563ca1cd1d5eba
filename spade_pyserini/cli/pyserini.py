"""``spade pyserini``: run any Pyserini module with the Java runtime that this package finds."""

from __future__ import annotations

import argparse

from spade_pyserini.cli import arguments

EXAMPLE = """spade pyserini search.lucene --impact --min-idf -1 --index index/pydoc.spade-mini \\
      --topics runs/topics.wp.tsv --output runs/run.pyserini.txt"""


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade pyserini``."""
    description = "Run a Pyserini module, unchanged, with the Java runtime that spade finds."
    parser = arguments.new_parser("pyserini", description, EXAMPLE)
    parser.add_argument(
        "module", metavar="MODULE", help="module in pyserini, such as search.lucene"
    )
    parser.add_argument(
        "arguments", nargs=argparse.REMAINDER, metavar="...", help="arguments of the module"
    )
    return parser


def run(options: argparse.Namespace) -> None:
    """Start Java, then run the module as ``python -m pyserini.MODULE`` does."""
    from spade_pyserini.lucene.pyserini_module import run_pyserini_module

    run_pyserini_module(options.module, options.arguments)


if __name__ == "__main__":
    import sys

    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("pyserini"))
