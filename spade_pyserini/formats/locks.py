"""Locks: one process at a time writes an output."""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from spade_pyserini.errors import OutputExistsError
from spade_pyserini.formats.paths import is_local, sibling


@contextmanager
def lock(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock on ``path``: only one process at a time writes it.

    If another process holds it, raise `OutputExistsError`, or with ``wait`` block until it is free.
    The lock is a file ``path.lock``. For an object store the lock file is in the local temporary
    folder: it excludes other processes on this machine only.
    """
    if is_local(path):
        file = sibling(path, "lock")
    else:
        name = hashlib.sha256(str(path).encode()).hexdigest()[:16]
        file = Path(tempfile.gettempdir(), f"spade_pyserini.{name}.lock")
    file.parent.mkdir(parents=True, exist_ok=True)
    with _locked(file, wait) as stream:
        if stream is None:
            raise OutputExistsError(f"{path}: another process is writing it; wait until it exits")
        try:
            yield
        finally:
            file.unlink(missing_ok=True)


@contextmanager
def _locked(file: Path, wait: bool) -> Iterator[IO[str] | None]:
    """The lock file, locked by this process; None if another one holds it and ``wait`` is False."""
    while True:
        with file.open("w") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield None
                return
            if _is_current(file, stream):
                yield stream
                return


def _is_current(file: Path, stream: IO[str]) -> bool:
    """False if the previous holder unlinked the lock file that ``stream`` has open."""
    try:
        return os.path.samestat(file.stat(), os.fstat(stream.fileno()))
    except FileNotFoundError:
        return False
