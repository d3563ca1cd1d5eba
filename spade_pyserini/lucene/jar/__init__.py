"""This package's Java classes: their sources and the jars compiled from them. The main classes:

    ImpactIndexer    writes vectors to a Lucene index, with impacts as term frequencies
    VectorFile       reads a file of vectors; ForeignChecks checks vectors of other tools
    Pruning          leaves small impacts out of an index
    ImpactSegment    an inverted segment in memory, which ImpactIndexer passes to Lucene
    ImpactHits       searches boolean or weighted queries, a batch per call
    ImpactPostings   reads an index: document vectors, postings and statistics
    Bm25Hits         searches a BM25 index with Anserini; returns the hits as one string

There is one jar for Lucene 9 and one for Lucene 10. The sources in ``spade`` are compiled into
both; the few sources that differ are in ``lucene9`` and ``lucene10``.

Users need no compiler. After changing a source, run ``python -m spade_pyserini.lucene.jar.build``
with a JDK 21 or later; see `spade_pyserini.lucene.jar.build`.
"""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

FOLDER = Path(__file__).parent
LUCENE_VERSIONS = (9, 10)  # major versions
DIGEST = "sources.sha256"  # the file in each jar with the digest of its sources


def jar_path(lucene: int) -> Path:
    """Return the path of the jar for a major version of Lucene."""
    return FOLDER / f"spade-lucene{lucene}.jar"


def source_files(lucene: int) -> list[Path]:
    """Return the sources of the jar for a major version of Lucene."""
    return [*sorted(FOLDER.glob("spade/*.java")), *sorted(FOLDER.glob(f"lucene{lucene}/*.java"))]


def sources_digest(lucene: int) -> str:
    """Return the digest of the names and contents of all sources of a jar."""
    digest = hashlib.sha256()
    for path in source_files(lucene):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def is_current(lucene: int) -> bool:
    """Return whether a jar was compiled from the present sources."""
    with zipfile.ZipFile(jar_path(lucene)) as jar:
        return jar.read(DIGEST).decode() == sources_digest(lucene)
