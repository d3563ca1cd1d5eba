"""Locks: one process at a time writes an output."""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spade_pyserini.errors import OutputExistsError
from spade_pyserini.formats.paths import is_local, sibling

OPEN = os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def lock(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock on ``path``: only one process at a time writes it.

    If another process holds the lock, raise `OutputExistsError`. If ``wait`` is true, wait for
    the lock instead.

    The lock is an empty file ``path.lock``. If a file with contents, a link or a device has that
    name, this package did not create it, and `OutputExistsError` is raised. For an object store,
    the lock file is in a temporary folder of this user, so the lock works only on this machine.
    """
    file = sibling(path, "lock") if is_local(path) else _lock_folder() / _digest(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    with _locked(file, wait) as locked:
        if not locked:
            message = f"{path}: another process is writing it; wait until that process has ended"
            raise OutputExistsError(message)
        try:
            yield
        finally:
            file.unlink(missing_ok=True)


def _digest(path: Path) -> str:
    return hashlib.sha256(str(path).encode()).hexdigest()[:16] + ".lock"


def _lock_folder() -> Path:
    """Return a folder for locks that only this user can write to."""
    folder = Path(tempfile.gettempdir(), f"spade_pyserini-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    state = folder.lstat()
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid():
        message = f"{folder} belongs to another user; set TMPDIR to another folder"
        raise OutputExistsError(message)
    return folder


@contextmanager
def _locked(file: Path, wait: bool) -> Iterator[bool]:
    """Lock a file; yield False if another process holds the lock and ``wait`` is False."""
    while True:
        with _opened(file) as descriptor:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            if _is_current(file, descriptor):
                yield True
                return


@contextmanager
def _opened(file: Path) -> Iterator[int]:
    """Open or create a lock file; raise `OutputExistsError` if the file is not a lock."""
    refused = OutputExistsError(
        f"{file} is not a lock of this program, but has the name of a lock; rename or remove it"
    )
    if file.is_symlink() or file.is_dir():
        raise refused
    descriptor = os.open(file, OPEN, 0o666)
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_size:
            raise refused
        yield descriptor
    finally:
        os.close(descriptor)


def _is_current(file: Path, descriptor: int) -> bool:
    """False if the previous holder unlinked the lock file that ``descriptor`` has open."""
    try:
        return os.path.samestat(file.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
