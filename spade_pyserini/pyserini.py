"""Run any Pyserini module, unchanged, on the Java that this package finds.

On a machine with a full JDK 21 this is the same as ``python -m pyserini.MODULE``.
"""

from __future__ import annotations

import importlib.util
import runpy
import sys

from spade_pyserini import cli, java
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
    module = "pyserini." + arguments[0].removeprefix("pyserini.")
    # The JVM first: importing the module's parents would start it in pyserini's way.
    java.start()
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise UsageError(f"pyserini has no module {module}")
    sys.argv = [module, *arguments[1:]]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    cli.run(main)
