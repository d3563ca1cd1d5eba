"""The little Java that is ours: its sources, and the jar that they were compiled to.

    ImpactIndexer    vectors to a Lucene index, impacts as term frequencies
    ImpactHits       boolean queries, many in one call, hits in one answer
    ImpactPostings   what is in an index: vectors and figures

Users need no compiler. Whoever changes a source runs ``python -m spade_pyserini.jar.build``, with a
JDK.
"""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

SOURCES = Path(__file__).with_name("spade")
JAR = Path(__file__).with_name("spade.jar")
DIGEST = "sources.sha256"  # inside the jar


def sources_digest() -> str:
    """Of all sources, by name."""
    digest = hashlib.sha256()
    for path in sorted(SOURCES.glob("*.java")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def is_current() -> bool:
    """Whether the jar was made from the sources as they are now."""
    with zipfile.ZipFile(JAR) as jar:
        return jar.read(DIGEST).decode() == sources_digest()
