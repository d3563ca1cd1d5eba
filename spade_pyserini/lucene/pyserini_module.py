"""Run a Pyserini module, unchanged, on the Java runtime that this package finds.

On a machine with a full JDK 21 this does the same as ``python -m pyserini.MODULE``. If the module
starts another Python process, that process looks for Java in Pyserini's own way.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import runpy
import signal
import sys

from spade_pyserini.errors import UsageError
from spade_pyserini.lucene.pyserini_import import prepare_pyserini

# A parent process sets this variable if its child is to be killed when the parent dies.
DIE_WITH_PARENT = "SPADE_PYSERINI_DIE_WITH_PARENT"
PR_SET_PDEATHSIG = 1  # from <linux/prctl.h>


def run_pyserini_module(name: str, arguments: list[str]) -> None:
    """Run ``pyserini.NAME`` as ``__main__`` in this process, with these arguments."""
    if DIE_WITH_PARENT in os.environ and sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    module = "pyserini." + name.removeprefix("pyserini.")
    prepare_pyserini()
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        spec = None
    if spec is None:
        raise UsageError(f"pyserini has no module {module}; give one such as search.lucene")
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    run_pyserini_module(sys.argv[1], sys.argv[2:])
