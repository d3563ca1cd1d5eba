"""``spade pyserini``: any Pyserini module, on the Java that this package finds."""

from __future__ import annotations

from spade_pyserini.cli import command
from spade_pyserini.errors import UsageError

USAGE = """usage: python -m spade_pyserini.pyserini MODULE [ARGUMENT ...]

Run a Pyserini module unchanged on the Java that spade_pyserini finds.

example:
  python -m spade_pyserini.pyserini search.lucene --impact --index index/X \\
      --topics topics.wp.tsv --output runs/run.txt
"""


def main(arguments: list[str]) -> None:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, end="")
        if not arguments:
            raise UsageError("name a Pyserini module, for example search.lucene")
        return

    from spade_pyserini.lucene.pyserini_module import run_pyserini_module

    run_pyserini_module(arguments[0], arguments[1:])


if __name__ == "__main__":
    command.run(main)
