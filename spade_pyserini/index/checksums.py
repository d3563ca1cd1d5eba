"""Compare the files of an index with the checksums that Lucene writes at their ends.

Lucene itself compares them only in small files when it opens an index; a flipped bit in postings
would give wrong hits without a message. All files are read once, and again only after a change: see
`spade_pyserini.formats.known_files`. The cost is that of reading them from the disk.
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
FOOTER = struct.Struct(">IIQ")  # magic number, algorithm, CRC-32 of all bytes before it
MAGIC = 0xC02893E8
BLOCK = 1 << 20


def check_index_files(folder: Path, index: Path | None = None) -> None:
    """Raise `ArtifactError` if a file in ``folder`` differs from its checksum.

    Files that were checked before, and have not changed since, are not read. ``index`` is the path
    that the user knows the index by, if that is another one.
    """
    index = index or folder
    known = known_files(index)
    checked = {}
    for path in sorted(folder.iterdir()):
        if not LUCENE_FILE.fullmatch(path.name):
            continue
        entry = KnownFile(identity(path))
        if known.get(path.name) != entry and not _is_intact(path):
            message = f"{index}: {path.name} is damaged, its checksum is wrong"
            raise ArtifactError(f"{message}; restore a copy of it, or {REBUILD}")
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
