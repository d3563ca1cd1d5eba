"""Count documents, postings and impacts in a Lucene index; compare them with its manifest."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from spade_pyserini.errors import ArtifactError
from spade_pyserini.formats.index_manifest import IndexManifest
from spade_pyserini.index.postings import Postings
from spade_pyserini.lucene import jvm
from spade_pyserini.lucene.errors import REBUILD, translate_java_errors

FIELD = "contents"  # name of the Lucene field with the terms


class LuceneCounts(NamedTuple):
    """Documents, postings, and the sum of impacts (term frequencies) in an index."""

    documents: int
    postings: int
    impacts: int


def lucene_counts(folder: Path) -> LuceneCounts:
    """Open an index with Lucene and return its counts; raise `ArtifactError` if that fails."""
    path = jvm.java_class("java.nio.file.Paths").get(jvm.java_path(folder))
    with translate_java_errors(folder, "open"):
        directory = jvm.java_class("org.apache.lucene.store.FSDirectory").open(path)
        try:
            reader = jvm.java_class("org.apache.lucene.index.DirectoryReader").open(directory)
        finally:
            directory.close()
    try:
        counts = LuceneCounts(
            reader.numDocs(), reader.getSumDocFreq(FIELD), reader.getSumTotalTermFreq(FIELD)
        )
        has_deletions = reader.hasDeletions()
    finally:
        reader.close()
    if not has_deletions:
        return counts
    with Postings(folder) as postings:  # Lucene's sums include deleted documents
        statistics = postings.statistics(0)
    return LuceneCounts(counts.documents, statistics.postings, statistics.sum_of_impacts)


def check_lucene_counts(folder: Path, manifest: IndexManifest) -> LuceneCounts:
    """Return the counts of an index; raise `ArtifactError` if they differ from the manifest."""
    counts = lucene_counts(folder)
    expected = {"documents": manifest.documents}
    if manifest.kind == "impact":
        expected |= {"postings": manifest.postings, "impacts": manifest.impacts}
    for name, number in expected.items():
        if (found := getattr(counts, name)) != number:
            message = f"the index has {found} {name}, but should have {number}"
            if name == "impacts":
                message = f"the sum of the impacts in the index is {found}, but should be {number}"
            raise ArtifactError(f"{folder}: {message}; {REBUILD}")
    return counts
