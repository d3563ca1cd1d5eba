"""Atomic writes: a reader sees the old file or the new one, never a part of it."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from spade_pyserini.errors import SpadeError
from spade_pyserini.formats.paths import is_local


@contextmanager
def atomic_write(path: Path, temporary: Path | None = None) -> Iterator[IO[bytes]]:
    """Write to a temporary file; flush it and rename it to ``path`` only if no error occurred.

    ``temporary`` is the path of the temporary file, on the same file system. Set it if another
    program reads every file in the folder of ``path``. In an object store, the collected bytes are
    uploaded in one request at the end, which is atomic.
    """
    if not is_local(path):
        buffer = io.BytesIO()
        yield buffer
        store: Any = path
        store.parent.mkdir(parents=True, exist_ok=True)
        store.fs.pipe_file(store.path, buffer.getvalue())
        return
    unfinished = temporary or path.with_name(f".{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(path)
    except BaseException as error:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise SpadeError(
                f"{path}: the disk is full; free some space and run the same command again, "
                "finished files are not lost"
            ) from None
        raise
