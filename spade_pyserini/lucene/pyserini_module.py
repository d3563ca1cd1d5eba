"""Run any Pyserini module, unchanged, on the Java that this package finds.

On a machine with a full JDK 21 this is the same as ``python -m pyserini.MODULE``. A module that
starts a Python of its own, as the old ``pyserini.search`` does, starts it without our help.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import runpy
import signal
import sys

from spade_pyserini.cli import command
from spade_pyserini.errors import UsageError
from spade_pyserini.lucene import jvm

DIE_WITH_PARENT = "SPADE_PYSERINI_DIE_WITH_PARENT"  # set by a parent that must not be outlived
PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>
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
    if DIE_WITH_PARENT in os.environ and sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    module = "pyserini." + arguments[0].removeprefix("pyserini.")
    # The JVM first: importing the module's parents would start it in pyserini's way.
    jvm.start()
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise UsageError(f"pyserini has no module {module}")
    sys.argv = [module, *arguments[1:]]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    command.run(main)
