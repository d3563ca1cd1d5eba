"""Is an index what it was: Lucene's own check of every file, and documents against their vectors.

A bit that flips in the postings is served by search as if nothing had happened; the checksums
that Lucene keeps find it.
"""

from __future__ import annotations

import logging
from pathlib import Path

from spade_pyserini import java, vectors
from spade_pyserini.errors import ArtifactError
from spade_pyserini.files import sha256
from spade_pyserini.index.manifest import IndexManifest, LuceneCounts, lucene_counts
from spade_pyserini.index.postings import Postings
from spade_pyserini.records import ImpactVector

logger = logging.getLogger(__name__)
SAMPLE = 1000  # documents that are compared with their vectors


def verify_index(
    index: str | Path, source: str | Path | None = None, *, sample: int = SAMPLE
) -> IndexManifest:
    """Raise `ArtifactError` unless the index is whole; returns its manifest.

    With ``source``, the folder of the vectors that it was built from, ``sample`` documents are
    compared term by term.
    """
    folder = Path(index)
    manifest = IndexManifest.load(folder)
    check_files(folder)
    check_counts(folder, manifest)
    if source is not None:
        _check_source(manifest, folder, Path(source))
        compared = _compare_sample(folder, Path(source), sample)
        logger.info("%s: %d documents are as their vectors in %s", folder, compared, source)
    logger.info("%s: whole, %d documents", folder, manifest.documents)
    return manifest


def check_files(folder: Path) -> None:
    """Lucene's CheckIndex: checksums, and every structure of every segment."""
    checker = java.our_class("ImpactPostings")
    try:
        reason = checker.check(str(folder))
    except Exception as error:  # jnius.JavaException, which is only there once the JVM is
        reason = str(error).splitlines()[0]
    if reason is not None:
        message = f"{folder}: damaged, Lucene's CheckIndex says: {reason[:200]}"
        raise ArtifactError(f"{message}; build it again with --overwrite")


def check_counts(folder: Path, manifest: IndexManifest) -> LuceneCounts:
    """Raise `ArtifactError` unless Lucene has as much as the manifest says."""
    counts = lucene_counts(folder)
    wanted = {"documents": manifest.documents}
    if manifest.kind == "impact":
        wanted |= {"postings": manifest.postings, "impacts": manifest.impacts}
    for name, number in wanted.items():
        if getattr(counts, name) != number:
            message = f"the index has {getattr(counts, name)} {name}, it should have {number}"
            raise ArtifactError(f"{folder}: {message}; build it again with --overwrite")
    return counts


def _check_source(manifest: IndexManifest, folder: Path, source: Path) -> None:
    if manifest.kind != "impact":
        raise ArtifactError(f"{folder} is a {manifest.kind} index, it has no vectors")
    if sha256(vectors.manifest_path(source)) != manifest.source_sha256 or manifest.updates:
        raise ArtifactError(f"{folder} was not built from {source} as it is now")


def _compare_sample(folder: Path, source: Path, sample: int) -> int:
    """Every n-th document, evenly over the vectors; returns how many."""
    step = -(-vectors.VectorManifest.load(source).documents // sample) or 1
    chosen: list[ImpactVector] = [
        vector
        for number, vector in enumerate(vectors.read_vectors(source))
        if number % step == 0 and vector.impacts
    ]
    with Postings(folder) as postings:
        found = postings.vectors([vector.docid for vector in chosen])
    for vector, impacts in zip(chosen, found, strict=True):
        if impacts != vector.impacts:
            message = f"{folder}: the document {vector.docid!r} is not as its vector in {source}"
            raise ArtifactError(f"{message}; build it again with --overwrite")
    return len(chosen)
