"""Describe an index with its manifest or, if another tool built it, with Lucene's counts."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini.errors import ArtifactError
from spade_pyserini.formats.index_manifest import IndexManifest, manifest_path
from spade_pyserini.index.counts import FIELD, lucene_counts


def describe_index(folder: Path) -> IndexManifest:
    """Return the manifest of an index.

    An index without a manifest is assumed to be an impact index of another tool. For such an index,
    return a new manifest with Lucene's counts.
    """
    if manifest_path(folder).is_file() or not folder.is_dir():
        return IndexManifest.load(folder)
    counts = lucene_counts(folder)
    if not counts.postings:
        message = f"{folder} is not an impact index: its field {FIELD!r} has no terms"
        raise ArtifactError(f"{message}; give an impact index")
    return IndexManifest(
        kind="impact",
        corpus=folder.name,
        model=folder.name,
        documents=counts.documents,
        empty_documents=0,
        postings=counts.postings,
        impacts=counts.impacts,
        source_sha256="",
        tokenizer_fingerprint=None,
        optimized=False,
        builder="another tool",
        anserini="",
    )


def describe_impact_index(folder: Path) -> IndexManifest:
    """Return the manifest as `describe_index` does; raise `ArtifactError` for a BM25 index."""
    manifest = describe_index(folder)
    if manifest.kind != "impact":
        message = f"{folder} is a {manifest.kind} index, which has no impacts"
        raise ArtifactError(f"{message}; give an impact index")
    return manifest
