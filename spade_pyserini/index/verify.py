"""Is an index what it was: Lucene's own check of every file, and documents against their vectors.

A bit that flips in the postings is served by search as if nothing had happened; the checksums
that Lucene keeps find it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from spade_pyserini.errors import ArtifactError
from spade_pyserini.formats import vectors
from spade_pyserini.formats.files import sha256
from spade_pyserini.formats.index_manifest import (
    CURE,
    IndexManifest,
    LuceneCounts,
    foreign_manifest,
    lucene_counts,
    refuse_version,
    told,
)
from spade_pyserini.index.foreign import check_foreign
from spade_pyserini.index.postings import Postings
from spade_pyserini.lucene import jvm
from spade_pyserini.records import ImpactVector

logger = logging.getLogger(__name__)
SAMPLE = 1000  # documents that are compared with their vectors


def verify_index(
    index: str | Path, source: str | Path | None = None, *, sample: int = SAMPLE
) -> IndexManifest:
    """Raise `ArtifactError` unless the index is whole; returns its manifest.

    With ``source``, the folder of the vectors that it was built from or that were added last,
    ``sample`` documents are compared term by term, without those that were deleted since. An index
    of another tool's making has no manifest: Lucene's own check is all there is, and the vectors
    that are given.
    """
    folder = Path(index)
    if not folder.is_dir():
        return IndexManifest.load(folder)  # which says why there is none
    check_files(folder)
    manifest = foreign_manifest(folder)
    check_lucene_counts(folder, manifest)
    if source is not None:
        compared = _compare_sample(folder, manifest, Path(source), sample)
        logger.info("%s: %d documents are as their vectors in %s", folder, compared, source)
    logger.info("%s: whole, %d documents", folder, manifest.documents)
    return manifest


def check_files(folder: Path) -> None:
    """Lucene's CheckIndex: checksums, and every structure of every segment."""
    checker = jvm.our_class("ImpactPostings")
    with told(folder, "check", "see that its files can be read"):
        reason = checker.check(str(folder))
    if reason is not None:
        refuse_version(folder, reason)
        message = f"{folder}: damaged, Lucene's CheckIndex says: {reason[:200]}"
        raise ArtifactError(f"{message}; {CURE}")


def check_lucene_counts(folder: Path, manifest: IndexManifest) -> LuceneCounts:
    """Raise `ArtifactError` unless Lucene has as much as the manifest says."""
    counts = lucene_counts(folder)
    wanted = {"documents": manifest.documents}
    if manifest.kind == "impact":
        wanted |= {"postings": manifest.postings, "impacts": manifest.impacts}
    for name, number in wanted.items():
        if getattr(counts, name) != number:
            message = f"the index has {getattr(counts, name)} {name}, it should have {number}"
            raise ArtifactError(f"{folder}: {message}; {CURE}")
    return counts


def _read_source(source: Path) -> tuple[str, int, Iterator[ImpactVector]]:
    """The digest of vectors as an index knows it, their number, and themselves."""
    if vectors.manifest_path(source).is_file():
        documents = vectors.VectorManifest.load(source).documents
        return sha256(vectors.manifest_path(source)), documents, vectors.read_vectors(source)
    found = check_foreign(source)
    read = (vector for file in found.files for vector in vectors.read_shard(file))
    return found.digest, found.documents, read


def _compare_sample(folder: Path, manifest: IndexManifest, source: Path, sample: int) -> int:
    """Every n-th document, evenly over the vectors; returns how many."""
    if manifest.kind != "impact":
        raise ArtifactError(f"{folder} is a {manifest.kind} index, it has no vectors")
    digest, documents, read = _read_source(source)
    added = [change for change in manifest.updates if change.startswith("add ")]
    if added and added[-1] != f"add {digest}":
        message = f"{folder} was changed since, and not by adding {source} as it is now"
        raise ArtifactError(f"{message}; name the vectors that were added last, or none")
    if not added and manifest.source_sha256 not in ("", digest):
        raise ArtifactError(f"{folder} was not built from {source} as it is now")
    deleted = manifest.updates[-1:] != added[-1:]
    step = -(-documents // sample) or 1
    chosen = [vector for number, vector in enumerate(read) if number % step == 0 and vector.impacts]
    with Postings(folder) as postings:
        found = postings.vectors([vector.docid for vector in chosen])
    for vector, impacts in zip(chosen, found, strict=True):
        if impacts != vector.impacts and not (deleted and impacts is None):
            message = f"{folder}: the document {vector.docid!r} is not as its vector in {source}"
            raise ArtifactError(f"{message}; {CURE}")
    return sum(impacts is not None for impacts in found)
