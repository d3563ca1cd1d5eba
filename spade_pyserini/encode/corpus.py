"""Encode a corpus into shards of a fixed number of documents, one after the other.

A shard is read, encoded and moved into place before the next begins; the manifest then knows
it. A killed run therefore loses at most one shard, and the same call goes on where it stopped.
Batches are made inside a shard, so a shard's bytes do not depend on where the run started.
"""

from __future__ import annotations

import itertools
import logging
from dataclasses import replace
from pathlib import Path

from tqdm import tqdm

from spade_pyserini.components import remove_components
from spade_pyserini.corpora import Corpus
from spade_pyserini.encode.output import found_manifest, intact, refuse_other_documents, start
from spade_pyserini.encode.shard import BATCH_TOKENS, ShardEncoder, calibrated_scale, input_digest
from spade_pyserini.errors import InputError
from spade_pyserini.files import lock, remove
from spade_pyserini.models import SpadeModel
from spade_pyserini.vectors import Shard, VectorManifest, VectorSettings, manifest_path

logger = logging.getLogger(__name__)
SHARD_SIZE = 2000
SAMPLE = 200  # documents that an uncalibrated model's scale is taken from


def encode_corpus(
    corpus: Corpus,
    model: SpadeModel,
    output: str | Path,
    *,
    model_name: str = "model",
    shard_size: int = SHARD_SIZE,
    batch_tokens: int = BATCH_TOKENS,
    overwrite: bool = False,
    components: bool = False,
) -> VectorManifest:
    """Write the vectors of ``corpus`` to the folder ``output``; return their manifest.

    With ``components`` the two encoders' vectors are kept beside it, see
    `spade_pyserini.components`; shards that lack them are encoded again.

    An output that the same call left unfinished is completed, a finished one is left alone, and
    one with other settings is refused unless ``overwrite``.
    """
    folder = Path(output)
    with lock(folder):
        found = found_manifest(folder, overwrite)
        settings = _settings(
            corpus,
            model,
            found,
            model_name=model_name,
            shard_size=shard_size,
            batch_tokens=batch_tokens,
        )
        manifest = start(folder, settings, model, found, overwrite)
        encoder = ShardEncoder(model, settings, components)
        known = manifest.shards
        shards: list[Shard] = []
        documents = iter(corpus)
        with tqdm(desc="encoding", unit=" documents", disable=None) as bar:
            while batch := list(itertools.islice(documents, shard_size)):
                number, digest = len(shards), input_digest(batch)
                old = known[number] if number < len(known) else None
                if old and intact(folder, old, digest, overwrite, components):
                    shards.append(old)
                    bar.update(len(batch))
                    continue
                shards.append(encoder.write(folder, number, batch, digest, bar))
                # With the shards that an earlier run finished after this one.
                replace(manifest, shards=shards + known[len(shards) :]).save(folder)
        if not shards:
            raise InputError("the corpus is empty", corpus.source)
        for shard in known[len(shards) :]:
            refuse_other_documents(folder / shard.file, overwrite)
            remove(folder / shard.file)
            remove_components(folder, [shard.file])
        manifest = replace(manifest, shards=shards, complete=True)
        manifest.save(folder)
        _report(manifest, folder)
        return manifest


def _settings(
    corpus: Corpus,
    model: SpadeModel,
    found: VectorManifest | None,
    *,
    model_name: str,
    shard_size: int,
    batch_tokens: int,
) -> VectorSettings:
    """The settings of this call; a model without a scale keeps the one it was given before."""
    fingerprint = model.fingerprint
    scale = model.config.scale
    if scale is None and found:
        same = (found.settings.corpus, found.settings.model_fingerprint)
        scale = found.settings.scale if same == (corpus.name, fingerprint) else None
    return VectorSettings(
        corpus=corpus.name,
        model=model_name,
        model_fingerprint=fingerprint,
        tokenizer_fingerprint=model.wordpieces.fingerprint,
        alpha=model.config.alpha,
        k=model.config.k,
        max_length=model.config.max_length,
        bits=model.config.bits,
        scale=_calibrated(corpus, model) if scale is None else scale,
        shard_size=shard_size,
        batch_tokens=batch_tokens,
    )


def _calibrated(corpus: Corpus, model: SpadeModel) -> float:
    """A scale for a model that brings none, from the first documents of the corpus."""
    sample = [document.contents for document in itertools.islice(corpus, SAMPLE)]
    scale = calibrated_scale(model, sample)
    logger.info("the model has no scale: calibrated to %.4f on %d documents", scale, len(sample))
    return scale


def _report(manifest: VectorManifest, folder: Path) -> None:
    logger.info(
        "%s: %d documents, %.1f terms per document",
        folder,
        manifest.documents,
        manifest.terms_per_document,
    )
    if manifest.empty_documents:
        empty = [docid for shard in manifest.shards for docid in shard.empty]
        shown = ", ".join(empty[:5]) + (", ..." if len(empty) > 5 else "")
        logger.warning(
            "%d documents have no terms and cannot be found: %s (all are listed in %s)",
            len(empty),
            shown,
            manifest_path(folder).name,
        )
    clipped = sum(shard.clipped for shard in manifest.shards)
    if clipped:
        logger.info("%d impacts were above the largest value and cut off there", clipped)
