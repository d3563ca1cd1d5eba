"""``python -m spade_pyserini.fuse``: several runs to one, by ranks or by scores."""

from __future__ import annotations

from spade_pyserini.baselines.fuse import METHODS, fuse
from spade_pyserini.cli import command
from spade_pyserini.errors import InputError

MODULE = "spade_pyserini.fuse"
EXAMPLE = """python -m spade_pyserini.fuse --output runs/run.pydoc.fused.pydoc-test.txt \\
      --run runs/run.pydoc.bm25.pydoc-test.txt runs/run.pydoc.minilm-dense.pydoc-test.txt"""


def main(arguments: list[str]) -> None:
    parser = command.parser(MODULE, "Fuse TREC runs of the same topics.", EXAMPLE)
    add = parser.add_argument
    add("--run", "--runs", required=True, nargs="+", metavar="FILE", help="two or more TREC runs")
    add("--method", choices=METHODS, default="rrf", help="by ranks, or by normalised scores")
    add("--rrf-k", "--rrf.k", type=command.positive, default=60, metavar="K", help="the k of rrf")
    add("--weights", type=float, nargs="+", metavar="W", help="one for each run (default: 1 each)")
    add("--hits", type=command.positive, default=1000, metavar="N", help="hits per topic")
    add("--output", required=True, metavar="FILE", help="the fused run")
    add("--overwrite", action="store_true", help="replace an existing run")
    options = parser.parse_args(arguments)
    command.log_to_stderr(options.verbose)

    from spade_pyserini.search import read_run, write_run

    runs = []
    for path in options.run:
        runs.append(read_run(path))
        if not runs[-1]:
            raise InputError("the run is empty", path)
    fused = fuse(runs, options.method, options.rrf_k, options.weights, options.hits)
    write_run(fused, options.output, options.method, options.overwrite)
    print(options.output)


if __name__ == "__main__":
    command.run(main)
