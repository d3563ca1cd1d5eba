"""Temporary files and folders next to an output.

Nobody can guess the name of a temporary file (see `private_names`). If a file or link with this
name exists already, an error is raised, so a link is never followed. The process that creates a
temporary file or folder locks it until it is renamed or removed. If a temporary file or folder has
no lock, its process was killed; the next process that writes the same output removes it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from spade_pyserini.formats.paths import remove
from spade_pyserini.formats.private_names import private_sibling, private_siblings

CREATE = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY | os.O_CLOEXEC
OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def temporary_file(output: Path) -> Iterator[IO[bytes]]:
    """Create a file next to ``output``; yield it as a stream whose ``name`` is its path.

    The file is removed at the end, unless the caller renamed it.
    """
    remove_leftovers(output)
    path, descriptor = _create_file(output)
    try:
        with open(path, "wb", opener=lambda *_: descriptor) as stream:
            yield stream
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


@contextmanager
def temporary_folder(output: Path) -> Iterator[Path]:
    """Create a folder next to ``output``. It is removed at the end, unless it was renamed."""
    remove_leftovers(output)
    path, descriptor = _create_folder(output)
    try:
        yield path
    finally:
        os.close(descriptor)
        remove(path)


def remove_leftovers(output: Path) -> None:
    """Remove the temporary files and folders of ``output`` whose processes have died."""
    for path in private_siblings(output):
        with suppress(OSError), _opened(path) as descriptor:
            # This fails if the process that created ``path`` is still running.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove(path)


@contextmanager
def _errors_name(output: Path) -> Iterator[None]:
    """Replace the temporary name in system errors by the output, which the user knows."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(output)) from None


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, OPEN)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _create_folder(output: Path) -> tuple[Path, int]:
    """Create a folder and lock it; try again if another process removed it before it was locked."""
    output.parent.mkdir(parents=True, exist_ok=True)
    while True:
        path = private_sibling(output)
        with _errors_name(output):
            path.mkdir()
        with suppress(FileNotFoundError):
            descriptor = os.open(path, OPEN)
            with suppress(OSError):  # some file systems have no locks
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if path.exists():
                return path, descriptor
            os.close(descriptor)


def _create_file(output: Path) -> tuple[Path, int]:
    """Create a file and lock it; try again if another process removed it before it was locked."""
    output.parent.mkdir(parents=True, exist_ok=True)
    while True:
        path = private_sibling(output)
        with _errors_name(output):
            descriptor = os.open(path, CREATE, 0o666)
        with suppress(OSError):  # some file systems have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if path.exists():
            return path, descriptor
        os.close(descriptor)
