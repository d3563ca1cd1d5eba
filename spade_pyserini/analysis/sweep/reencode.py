"""Encode the corpus again with the same model, to get the components for another k."""

from __future__ import annotations

import itertools
from pathlib import Path

from spade_pyserini.analysis.sweep.options import Origin
from spade_pyserini.corpora import Corpus
from spade_pyserini.encode import EncodeOptions, encode_corpus
from spade_pyserini.errors import ArtifactError, UsageError
from spade_pyserini.formats.vector_manifest import VectorManifest
from spade_pyserini.models.protocols import DocumentEncoder
from spade_pyserini.sharding.reader import input_digest


def check_origin(manifest: VectorManifest, origin: Origin | None) -> None:
    """Raise an error unless ``origin`` has the model and the documents of the components."""
    settings = manifest.settings
    if origin is None:
        message = f"the components were encoded with k {settings.k}; to measure another k"
        raise UsageError(f"{message}, give their corpus and model: corpus=NAME and model=NAME")
    encoder = _configured(origin.encoder, manifest, settings.k)
    if encoder.fingerprint != settings.model_fingerprint:
        raise ArtifactError(
            "another model produced the components; give that model with model=NAME"
        )
    if _digests(origin.corpus, settings.shard_size) != [
        shard.input_sha256 for shard in manifest.shards
    ]:
        message = "the components were made from other documents than those of this corpus"
        raise ArtifactError(f"{message}; give the corpus of the components with corpus=NAME")


def _digests(corpus: Corpus, shard_size: int) -> list[str]:
    """Return a digest of the documents of each shard."""
    documents = iter(corpus)
    digests = []
    while shard := list(itertools.islice(documents, shard_size)):
        digests.append(input_digest(shard))
    return digests


def encode_components(folder: Path, k: int, manifest: VectorManifest, origin: Origin) -> None:
    """Encode the corpus with ``k`` and the other settings of ``manifest`` into ``folder``."""
    settings = manifest.settings
    options = EncodeOptions(
        model_name=settings.model,
        shard_size=settings.shard_size,
        batch_tokens=settings.batch_tokens,
        components=True,
    )
    encode_corpus(origin.corpus, _configured(origin.encoder, manifest, k), folder, options)


def _configured(encoder: DocumentEncoder, manifest: VectorManifest, k: int) -> DocumentEncoder:
    """Return the encoder with the settings of the vectors, but this ``k``."""
    settings = manifest.settings
    names = ("alpha", "max_length", "prune_ratio", "corpus_gamma")
    return encoder.with_settings(k=k, **{name: getattr(settings, name) for name in names})
