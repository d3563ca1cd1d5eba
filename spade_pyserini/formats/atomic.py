"""Atomic writes: a reader sees the old file or the new file, never an incomplete one."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from spade_pyserini.errors import SpadeError
from spade_pyserini.formats.outputs import refuse_special
from spade_pyserini.formats.paths import is_local
from spade_pyserini.formats.temporary import temporary_file, temporary_folder

FULL = "the disk is full; free some space and run the same command again"


@contextmanager
def atomic_write(path: Path, near: Path | None = None) -> Iterator[IO[bytes]]:
    """Write to a temporary file; flush it and rename it to ``path`` only if no error occurred.

    The temporary file is next to ``path``, or next to ``near``, which must be on the same file
    system. Set ``near`` if another program reads every file in the folder of ``path``. Only regular
    files are replaced. In an object store, the collected bytes are uploaded in one request at the
    end, which is atomic.
    """
    if not is_local(path):
        buffer = io.BytesIO()
        yield buffer
        store: Any = path
        store.parent.mkdir(parents=True, exist_ok=True)
        store.fs.pipe_file(store.path, buffer.getvalue())
        return
    refuse_special(path)
    with report_full_disk(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary_file(near or path) as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            Path(stream.name).replace(path)


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path, and rename the file there to ``path`` at the end.

    This is for a library that opens the file itself. The file gets the permissions of a new file:
    some libraries create files that only their owner can read.
    """
    refuse_special(path)
    with report_full_disk(path), temporary_folder(path) as folder:
        unfinished = folder / path.name
        yield unfinished
        unfinished.chmod(0o666 & ~_umask())
        with unfinished.open("rb") as stream:
            os.fsync(stream.fileno())
        unfinished.replace(path)


@contextmanager
def report_full_disk(path: Path) -> Iterator[None]:
    """Raise an error that names ``path`` and the cure if the disk or the quota is full."""
    try:
        yield
    except OSError as error:
        if not is_full(error):
            raise
        raise SpadeError(f"{path}: {FULL}. Finished files are not lost") from None


def is_full(error: OSError) -> bool:
    """Return whether an error says that the disk or the quota is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def _umask() -> int:
    """Return the process's umask. The only portable way to read it is to set it and set it back."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
