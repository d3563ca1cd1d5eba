"""``spade stats``: size, terms and impacts of an index."""

from __future__ import annotations

import argparse
import json

from spade_pyserini.cli import arguments

EXAMPLE = "spade stats index/pydoc.spade-mini"


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade stats``."""
    description = "Print the size, terms and impacts of an impact index."
    parser = arguments.new_parser("stats", description, EXAMPLE)
    add = parser.add_argument
    add("index", metavar="DIR", help="an impact index, built by spade or by another tool")
    add(
        "--frequent",
        type=arguments.integer(0, 10**6),
        default=20,
        metavar="N",
        help="number of frequent terms to print",
    )
    add("--json", action="store_true", help="print JSON")
    return parser


def run(options: argparse.Namespace) -> None:
    """Print the statistics."""
    from spade_pyserini.analysis.stats import index_stats, show

    stats = index_stats(options.index, options.frequent)
    print(json.dumps(stats, ensure_ascii=False) if options.json else show(stats))


if __name__ == "__main__":
    import sys

    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("stats"))
