"""Verify an index: Lucene's check of all files, counts, and a comparison with the vectors.

A search checks a file once, and again only if its size or time changed (`index.checksums`). Damage
on the disk that changes neither size nor time is noticed only by this verification.
"""

from __future__ import annotations

import logging
from pathlib import Path

from spade_pyserini.errors import ArtifactError
from spade_pyserini.formats.index_manifest import IndexManifest
from spade_pyserini.formats.tables import counted
from spade_pyserini.formats.vector_manifest import VectorManifest, manifest_path
from spade_pyserini.index.counts import check_lucene_counts
from spade_pyserini.index.foreign import check_foreign
from spade_pyserini.index.opening import locate, open_postings, retry_changes
from spade_pyserini.index.pruning import StaticPruning
from spade_pyserini.index.source import VectorSource, encoded_source
from spade_pyserini.lucene import jvm
from spade_pyserini.lucene.errors import REBUILD, check_lucene_version, translate_java_errors

logger = logging.getLogger(__name__)
SAMPLE = 1000  # number of documents to compare with their vectors


def verify_index(
    index: str | Path, source: str | Path | None = None, *, sample: int = SAMPLE
) -> IndexManifest:
    """Raise `ArtifactError` unless the index is intact; return its manifest.

    ``source`` is a folder of vectors: those from which the index was built or, if vectors were
    added later, those that were added last. If ``source`` is given, about ``sample`` documents are
    compared with their vectors term by term, except documents that were deleted from the index
    later. An index of another tool has no manifest, so only Lucene's check and the comparison with
    ``source`` are made.
    """
    folder = Path(index)

    def attempt() -> IndexManifest:
        files = locate(folder, foreign=True)
        if not files.folder.is_dir():
            return IndexManifest.load(folder)  # raises an error that says why there is no index
        check_files(files.folder)
        check_lucene_counts(files.folder, files.manifest)
        return files.manifest

    manifest = retry_changes(folder, attempt)
    if source is not None:
        compared = _compare_sample(folder, manifest, Path(source), sample)
        shown = counted(compared, "document")
        logger.info("%s: compared %s with %s: no differences", folder, shown, source)
    logger.info("%s: intact, %s", folder, counted(manifest.documents, "document"))
    return manifest


def check_files(folder: Path) -> None:
    """Run Lucene's CheckIndex, which checks the checksums and all structures of all segments."""
    checker = jvm.spade_class("ImpactPostings")
    with translate_java_errors(folder, "check", "check that its files can be read"):
        reason = checker.check(jvm.java_path(folder))
    if reason is not None:
        check_lucene_version(folder, reason)
        message = f"{folder}: damaged; Lucene's CheckIndex says: {reason[:200]}"
        raise ArtifactError(f"{message}; {REBUILD}")


def _compare_sample(folder: Path, manifest: IndexManifest, vectors: Path, sample: int) -> int:
    """Compare every n-th document with its vector; return how many were compared."""
    if manifest.kind != "impact":
        message = f"{folder} is a {manifest.kind} index, which has no vectors"
        raise ArtifactError(f"{message}; verify it without vectors")
    source = _describe_vectors(vectors)
    additions = [change for change in manifest.updates if change.startswith("add ")]
    _check_digest(folder, manifest, source, additions)
    step = -(-source.documents // sample) or 1
    chosen = [
        vector
        for number, vector in enumerate(source.vectors())
        if number % step == 0 and vector.impacts
    ]
    with open_postings(folder) as postings:
        indexed = postings.vectors([vector.docid for vector in chosen])
    # A document may be missing only if there were deletions after the last addition.
    may_be_deleted = manifest.updates[-1:] != additions[-1:]
    pruning = StaticPruning(manifest.keep, manifest.prune_ratio)
    for vector, impacts in zip(map(pruning.apply, chosen), indexed, strict=True):
        if impacts != vector.impacts and not (may_be_deleted and impacts is None):
            message = f"{folder}: the document {vector.docid!r} differs from its vector in"
            raise ArtifactError(f"{message} {source.folder}; {REBUILD}")
    return sum(impacts is not None for impacts in indexed)


def _describe_vectors(folder: Path) -> VectorSource:
    if manifest_path(folder).is_file():
        return encoded_source(folder, VectorManifest.load(folder))
    return check_foreign(folder)


def _check_digest(
    folder: Path, manifest: IndexManifest, source: VectorSource, additions: list[str]
) -> None:
    """Raise `ArtifactError` unless the vectors are those that were indexed or added last."""
    if additions and additions[-1] != f"add {source.digest}":
        message = f"{source.folder} was not the last addition to {folder}, or has changed since"
        cure = "give the vectors that were added last, or verify without vectors"
        raise ArtifactError(f"{message}; {cure}")
    if not additions and manifest.source_sha256 not in ("", source.digest):
        message = f"{folder} was not built from the present contents of {source.folder}"
        raise ArtifactError(f"{message}; give the vectors of the index, or verify without vectors")
