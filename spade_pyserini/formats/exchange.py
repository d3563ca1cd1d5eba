"""Exchange the names of two folders, atomically where the file system can do it."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

AT_FDCWD = -100  # from <fcntl.h>
RENAME_EXCHANGE = 2  # from <linux/fs.h>


def exchange(first: Path, second: Path) -> None:
    """Give each of two existing folders the name of the other.

    The exchange is atomic on Linux if the file system supports it. Otherwise, there is a moment
    when ``second`` does not exist, and then a moment when ``first`` does not exist.
    """
    if not _exchange_at_once(first, second):
        spare = first.with_name(f"{first.name}.old")
        second.replace(spare)
        first.replace(second)
        spare.replace(first)


def _exchange_at_once(first: Path, second: Path) -> bool:
    if sys.platform != "linux":
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    names = os.fsencode(first), os.fsencode(second)
    return bool(rename(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE) == 0)
