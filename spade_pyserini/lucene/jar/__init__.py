"""This package's Java classes: their sources and the jar compiled from them.

    ImpactIndexer    writes vectors to a Lucene index, impacts as term frequencies
    ImpactSegment    an in-memory inverted segment, which ImpactIndexer hands to Lucene
    ImpactHits       searches boolean queries, a batch per call
    ImpactPostings   reads an index: document vectors, postings and statistics

Users need no compiler. After changing a source, run ``python -m spade_pyserini.lucene.jar.build``
with a JDK 21 or later.
"""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

SOURCES = Path(__file__).with_name("spade")
JAR = Path(__file__).with_name("spade.jar")
DIGEST = "sources.sha256"  # an entry of the jar


def sources_digest() -> str:
    """Return the digest of the names and contents of all sources."""
    digest = hashlib.sha256()
    for path in sorted(SOURCES.glob("*.java")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def is_current() -> bool:
    """Return whether the jar was compiled from the present sources."""
    with zipfile.ZipFile(JAR) as jar:
        return jar.read(DIGEST).decode() == sources_digest()
