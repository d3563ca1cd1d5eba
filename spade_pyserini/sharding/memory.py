"""Memory that a finished shard leaves behind goes back to the system.

Vectors that wait for the end of their shard lie among the buffers of its batches, so what is freed
is in pieces. The C library keeps the pieces, and shard by shard a process would take more.
"""

from __future__ import annotations

import ctypes
import sys


def release_memory() -> None:
    """Let glibc return what it holds and nobody uses: a tenth of a second. Others keep it."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
