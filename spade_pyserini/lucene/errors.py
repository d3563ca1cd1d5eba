"""Translate Java exceptions of Lucene into errors of this package."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spade_pyserini.errors import ArtifactError
from spade_pyserini.lucene import jvm

WRITE = "write"
REBUILD = "build the index again with overwrite=True"
# Lucene's messages about an index of another version: an unknown format, codec or version.
OTHER_VERSION = re.compile(r"IndexFormatToo|Could not load codec|SPI class of type|in the future:")
# The major version in these messages. Lucene99 is a codec of Lucene 9, and Lucene104 is a codec of
# Lucene 10.
MAJOR = re.compile(r"'Lucene([4-9]|1\d)\d+'|in the future: (\d+)")
USE_LUCENE_10 = "use the index with pyserini 2, on Python 3.12 or later"


@contextmanager
def translate_java_errors(index: Path, action: str, cure: str = REBUILD) -> Iterator[None]:
    """Raise `ArtifactError` for a Java exception in the block; `OSError` if the disk is the cause.

    The message of `ArtifactError` is "INDEX: Lucene cannot ACTION this index (REASON); CURE".
    """
    jvm.start()
    import jnius  # only after start(), because this import starts a JVM if none is running

    try:
        yield
    except jnius.JavaException as error:
        report_java_disk_error(index, str(error))
        if action == WRITE:
            try_to_write(index)
        check_lucene_version(index, str(error))
        reason = str(error).splitlines()[0][:200]
        message = f"{index}: Lucene cannot {action} this index ({reason})"
        raise ArtifactError(f"{message}; {cure}") from None


def try_to_write(folder: Path) -> None:
    """Write a temporary file to ``folder``; raise `OSError` if that fails.

    The `OSError` states the reason, which Java's message may hide. If ``folder`` is a file, its
    parent folder is tried.
    """
    with tempfile.TemporaryFile(dir=folder.parent if folder.is_file() else folder) as stream:
        stream.write(b"\0" * 4096)


def report_java_disk_error(index: Path, reason: str) -> None:
    """Raise `OSError` if Java's message ``reason`` is about a full disk or quota."""
    for number in (errno.ENOSPC, errno.EDQUOT):
        if os.strerror(number) in reason:
            raise OSError(number, os.strerror(number), str(index))


def check_lucene_version(index: Path, reason: str) -> None:
    """Raise `ArtifactError` if Lucene's message ``reason`` is about an index of another version.

    Lucene reads the indexes of its own and the previous major version.
    """
    if not OTHER_VERSION.search(reason):
        return
    own = jvm.java_class("org.apache.lucene.util.Version").LATEST.toString()
    match = MAJOR.search(reason)
    major = int(match[1] or match[2]) if match else 0
    writer, cure = "another version of Lucene", REBUILD
    if major > int(own.partition(".")[0]):
        writer = f"Lucene {major}"
        cure = f"{USE_LUCENE_10}, or {REBUILD}" if major == 10 else REBUILD
    message = f"{index}: {writer} wrote this index; Lucene {own} of the installed pyserini"
    raise ArtifactError(f"{message} cannot read it; {cure}")
