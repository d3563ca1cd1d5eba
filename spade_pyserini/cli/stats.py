"""``python -m spade_pyserini.stats``: what is in an impact index, in figures."""

from __future__ import annotations

import json

from spade_pyserini.analysis.stats import index_stats, show
from spade_pyserini.cli import command

MODULE = "spade_pyserini.stats"
EXAMPLE = "python -m spade_pyserini.stats index/pydoc.spade-mini"


def main(arguments: list[str]) -> None:
    parser = command.parser(MODULE, "What is in an impact index.", EXAMPLE)
    add = parser.add_argument
    add("index", metavar="DIR", help="an impact index, of ours or of another tool's making")
    add(
        "--frequent",
        type=command.whole_number(0, 10**6),
        default=20,
        metavar="N",
        help="terms shown",
    )
    add("--json", action="store_true", help="for programs")
    options = parser.parse_args(arguments)
    command.log_to_stderr(options.verbose)
    stats = index_stats(options.index, options.frequent)
    print(json.dumps(stats, ensure_ascii=False) if options.json else show(stats))


if __name__ == "__main__":
    command.run(main)
