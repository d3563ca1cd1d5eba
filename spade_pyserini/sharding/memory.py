"""Return freed memory to the operating system after each shard.

The vectors of a shard stay in memory until the shard is complete, between the freed buffers of its
batches. Free memory is therefore fragmented. The C library keeps the fragments, and the process
would grow from shard to shard.
"""

from __future__ import annotations

import ctypes
import sys


def release_memory() -> None:
    """Make glibc return unused memory to the system (about 0.1 s); do nothing on other systems."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
