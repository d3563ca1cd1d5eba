"""``spade fuse``: fuse several runs into one, by ranks or by scores."""

from __future__ import annotations

import argparse

from spade_pyserini.baselines.fuse import METHODS, fuse
from spade_pyserini.cli import arguments
from spade_pyserini.errors import InputError

EXAMPLE = """spade fuse --output runs/run.pydoc.fused.pydoc-test.txt \\
      --run runs/run.pydoc.bm25.pydoc-test.txt runs/run.pydoc.minilm-dense.pydoc-test.txt"""


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade fuse``."""
    parser = arguments.new_parser("fuse", "Fuse TREC runs of the same topics.", EXAMPLE)
    add = parser.add_argument
    add("--run", "--runs", required=True, nargs="+", metavar="FILE", help="two or more TREC runs")
    add("--method", choices=METHODS, default="rrf", help="fuse ranks (rrf) or normalised scores")
    add(
        "--rrf-k",
        "--rrf.k",
        type=arguments.positive,
        default=60,
        metavar="K",
        help="constant k of reciprocal rank fusion (rrf)",
    )
    add("--weights", type=float, nargs="+", metavar="W", help="weight of each run (default: 1)")
    add("--hits", type=arguments.positive, default=1000, metavar="N", help="hits per topic")
    add("--output", required=True, metavar="FILE", help="the fused run")
    add("--overwrite", action="store_true", help="replace an existing run")
    return parser


def run(options: argparse.Namespace) -> None:
    """Read the runs, fuse them, write the result and print its path."""
    from spade_pyserini.search import read_run, write_run

    runs = []
    for path in options.run:
        runs.append(read_run(path))
        if not runs[-1]:
            raise InputError("the run is empty; give a run with hits", path)
    fused = fuse(runs, options.method, options.rrf_k, options.weights, options.hits)
    write_run(fused, options.output, options.method, options.overwrite)
    print(options.output)


if __name__ == "__main__":
    import sys

    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("fuse"))
