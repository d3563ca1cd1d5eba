"""``spade stats``: print the size, terms and impacts of an index."""

from __future__ import annotations

import argparse
import json
import logging

from spade_pyserini.cli import arguments
from spade_pyserini.errors import UsageError

EXAMPLE = """spade stats index/pydoc.spade-mini
  spade stats index/pydoc.spade-mini --counts encode/pydoc.spade-mini.counts.json"""

logger = logging.getLogger(__name__)


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade stats``."""
    description = "Print the size, terms and impacts of an impact index."
    parser = arguments.new_parser("stats", description, EXAMPLE)
    add = parser.add_argument
    add("folder", nargs="?", metavar="DIR", help="an impact index, built by spade or another tool")
    add("--index", metavar="DIR", help="the index, instead of the argument DIR")
    add(
        "--frequent",
        type=arguments.integer(0, 10**6),
        default=20,
        metavar="N",
        help="number of most frequent terms to print",
    )
    add(
        "--counts",
        metavar="FILE",
        help="the .counts.json of the vectors, to find terms that the model adds to many documents "
        "(default: encode/NAME.counts.json for the index index/NAME)",
    )
    add("--json", action="store_true", help="print JSON")
    return parser


def run(options: argparse.Namespace) -> None:
    """Print the statistics."""
    if bool(options.folder) == bool(options.index):
        raise UsageError("give one index: `spade stats DIR`, or --index DIR")

    from spade_pyserini.analysis.stats import index_stats, noise_remark, show

    stats = index_stats(options.index or options.folder, options.frequent, options.counts)
    print(json.dumps(stats, ensure_ascii=False) if options.json else show(stats))
    remark = noise_remark(stats)
    if remark and stats["counts"]:
        logger.warning("%s; `spade encode --corpus-gamma 0.25` removes such terms", remark)
    elif remark:
        logger.info("%s; --counts FILE shows which of them the model added", remark)


if __name__ == "__main__":
    import sys

    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("stats"))
