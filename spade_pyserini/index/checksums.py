"""Compare the files of an index with the checksums that Lucene writes at their ends.

When Lucene opens an index, it checks the checksums of small files only; a flipped bit in postings
would give wrong hits without a message. `check_index_files` reads each file completely once, and
again only after it changed: see `spade_pyserini.formats.known_files`.
"""

from __future__ import annotations

import re
import struct
import zlib
from pathlib import Path

from spade_pyserini.errors import ArtifactError
from spade_pyserini.formats.known_files import KnownFile, identity, known_files, remember_files
from spade_pyserini.lucene.errors import REBUILD

LUCENE_FILE = re.compile(r"segments_\w+|_\w+\.\w+")
FOOTER = struct.Struct(">IIQ")  # magic number, algorithm, CRC-32 of all bytes before the CRC-32
MAGIC = 0xC02893E8
BLOCK = 1 << 20


def check_index_files(folder: Path, index: Path | None = None) -> None:
    """Raise `ArtifactError` if a file in ``folder`` differs from its checksum.

    Files that were checked before and have not changed since are not read. ``index`` is the path
    of the index for messages, if it differs from ``folder``.
    """
    index = index or folder
    known = known_files(index)
    checked = {}
    for path in sorted(folder.iterdir()):
        if not LUCENE_FILE.fullmatch(path.name):
            continue
        entry = KnownFile(identity(path))
        if known.get(path.name) != entry and not _is_intact(path):
            message = f"{index}: {path.name} is damaged: its checksum is wrong"
            raise ArtifactError(f"{message}; restore this file from a copy, or {REBUILD}")
        checked[path.name] = entry
    if checked != known:
        remember_files(index, checked)


def _is_intact(path: Path) -> bool:
    """Return whether the bytes of a file have the checksum in its footer."""
    remaining = path.stat().st_size - FOOTER.size
    if remaining < 0:
        return False
    checksum = 0
    with path.open("rb") as stream:
        while remaining and (block := stream.read(min(BLOCK, remaining))):
            checksum = zlib.crc32(block, checksum)
            remaining -= len(block)
        footer = stream.read()
    if remaining or len(footer) != FOOTER.size:
        return False
    magic, algorithm, expected = FOOTER.unpack(footer)
    return (magic, algorithm) == (MAGIC, 0) and zlib.crc32(footer[:8], checksum) == expected
