"""Describe vectors to be indexed: their files, their counts, and how they were encoded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.formats.digests import non_default_fields, sha256
from spade_pyserini.formats.query_side import BOOLEAN, QuerySide, load_weights
from spade_pyserini.formats.vector_manifest import VectorManifest, VectorSettings, manifest_path
from spade_pyserini.formats.vectors import read_shard
from spade_pyserini.index.foreign_checks import ForeignChecks
from spade_pyserini.records import ImpactVector

# Settings that do not change the impacts of a given text.
NOT_IN_ENCODER_DIGEST = {"corpus", "model", "shard_size", "batch_tokens", "fields"}


class VectorSource(NamedTuple):
    """A folder of vectors, encoded by this package or by another tool.

    ``documents`` is the number of all documents, and ``empty_documents`` is the number of documents
    without any term. ``empty`` has the ids of the empty documents, if they are known. ``impacts``
    is the sum of all impacts. ``digest`` identifies the contents of the files. ``encoder`` is the
    `encoder_digest`, or None if another tool made the vectors.
    ``sources`` says how to open the corpus again, if that is known.
    ``model_folder`` and ``model_fingerprint`` are those of `IndexManifest`.
    ``query`` says how queries are encoded. ``query_weights`` is the table of query term weights; it
    is empty or None if queries need no table.
    ``checks`` is given if another tool made the vectors and the builder must check them. The counts
    of such vectors are unknown and set to 0.
    """

    folder: Path
    files: list[Path]
    corpus: str
    model: str
    documents: int
    empty_documents: int
    postings: int
    impacts: int
    digest: str
    encoder: str | None = None
    empty: tuple[str, ...] = ()
    sources: tuple[dict[str, str], ...] = ()
    checks: ForeignChecks | None = None
    query: QuerySide = BOOLEAN
    query_weights: Mapping[str, int] | None = None
    model_folder: str = ""
    model_fingerprint: str = ""

    @property
    def indexed_documents(self) -> int:
        """Number of documents with at least one term; documents without terms are not indexed."""
        return self.documents - self.empty_documents

    def vectors(self) -> Iterator[ImpactVector]:
        """Yield all vectors, in the order of the files."""
        for file in self.files:
            yield from read_shard(file)


def encoded_source(folder: Path, manifest: VectorManifest) -> VectorSource:
    """Describe vectors that were encoded by this package."""
    return VectorSource(
        folder=folder,
        files=[folder / shard.file for shard in manifest.shards],
        corpus=manifest.settings.corpus,
        model=manifest.settings.model,
        documents=manifest.documents,
        empty_documents=manifest.empty_documents,
        postings=manifest.terms,
        impacts=manifest.impacts,
        digest=sha256(manifest_path(folder)),
        encoder=encoder_digest(manifest.settings),
        empty=tuple(docid for shard in manifest.shards for docid in shard.empty),
        sources=(manifest.source,) if manifest.source else (),
        query=manifest.query,
        query_weights=load_weights(folder, manifest.query),
        model_folder=manifest.model_folder,
        model_fingerprint=manifest.settings.model_fingerprint,
    )


def encoder_digest(settings: VectorSettings) -> str:
    """Return the digest of all settings that influence impacts.

    Vectors with the same digest are comparable, so they can be in one index.
    """
    values = non_default_fields(settings)
    values = {name: value for name, value in values.items() if name not in NOT_IN_ENCODER_DIGEST}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
