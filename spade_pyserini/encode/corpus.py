"""Encode a corpus into shards of a fixed number of documents, one after the other.

A shard is read, encoded and moved into place before the next begins; the manifest then knows
it. A killed run therefore loses at most one shard, and the same call goes on where it stopped.
Batches are made inside a shard, so a shard's bytes do not depend on where the run started.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Never

from tqdm import tqdm

from spade_pyserini.corpora import Corpus
from spade_pyserini.errors import ArtifactError, InputError, OutputExistsError, SpadeError
from spade_pyserini.files import lock, remove, sha256
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.quantize import calibrate, largest_impact
from spade_pyserini.records import Document, ImpactVector
from spade_pyserini.vectors import (
    Shard,
    VectorManifest,
    VectorSettings,
    is_shard_name,
    manifest_path,
    shard_name,
    tokenizer_path,
    write_shard,
)

logger = logging.getLogger(__name__)
SHARD_SIZE = 2000
BATCH_TOKENS = 2048
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
) -> VectorManifest:
    """Write the vectors of ``corpus`` to the folder ``output``; return their manifest.

    An output that the same call left unfinished is completed, a finished one is left alone, and
    one with other settings is refused unless ``overwrite``.
    """
    folder = Path(output)
    with lock(folder):
        return _encode(
            corpus,
            model,
            folder,
            model_name=model_name,
            shard_size=shard_size,
            batch_tokens=batch_tokens,
            overwrite=overwrite,
        )


def _encode(
    corpus: Corpus,
    model: SpadeModel,
    folder: Path,
    *,
    model_name: str,
    shard_size: int,
    batch_tokens: int,
    overwrite: bool,
) -> VectorManifest:
    found = _found_manifest(folder, overwrite)
    settings = _settings(
        corpus,
        model,
        found,
        model_name=model_name,
        shard_size=shard_size,
        batch_tokens=batch_tokens,
    )
    manifest = _start(folder, settings, model, found, overwrite)
    encoder = _ShardEncoder(model, settings)
    known = manifest.shards
    shards: list[Shard] = []
    documents = iter(corpus)
    with tqdm(desc="encoding", unit=" documents", disable=None) as bar:
        while batch := list(itertools.islice(documents, shard_size)):
            number, digest = len(shards), _input_digest(batch)
            if number < len(known) and _intact(folder, known[number], digest, overwrite):
                shards.append(known[number])
                bar.update(len(batch))
                continue
            shards.append(encoder.write(folder, number, batch, digest, bar))
            # With the shards that an earlier run finished after this one.
            replace(manifest, shards=shards + known[len(shards) :]).save(folder)
    if not shards:
        raise InputError("the corpus is empty", corpus.source)
    for shard in known[len(shards) :]:
        _refuse_other_documents(folder / shard.file, overwrite)
        remove(folder / shard.file)
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


def _found_manifest(folder: Path, overwrite: bool) -> VectorManifest | None:
    """What an earlier run left to go on with.

    With ``overwrite`` that is an unfinished encoding only: a finished one, or a damaged manifest,
    is to be replaced.
    """
    if not manifest_path(folder).exists():
        return None
    try:
        found = VectorManifest.load(folder)
    except SpadeError:
        if overwrite:
            return None
        raise
    return None if overwrite and found.complete else found


def _start(
    folder: Path,
    settings: VectorSettings,
    model: SpadeModel,
    found: VectorManifest | None,
    overwrite: bool,
) -> VectorManifest:
    """The manifest to go on with: the one that is there, or a new one."""
    if found and found.settings == settings:
        manifest = found
    elif found and not overwrite:
        raise OutputExistsError(
            f"{folder} was encoded with other settings ({_differences(found.settings, settings)}); "
            "choose another --output, or pass --overwrite"
        )
    else:
        _clear(folder, overwrite)
        manifest = VectorManifest(settings, model.config.trained)
    folder.mkdir(parents=True, exist_ok=True)
    # Before the manifest: a folder with a manifest has its tokenizer.
    model.wordpieces.save(tokenizer_path(folder))
    manifest.save(folder)
    return manifest


def _clear(folder: Path, overwrite: bool) -> None:
    """Make room, but never remove what is not vectors of ours."""
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    if strange := [name for name in names if not is_shard_name(name)]:
        message = f"{folder} holds {strange[0]}, which is not of our making"
        raise OutputExistsError(f"{message}; choose another --output")
    if names and not overwrite:
        message = f"{folder} exists already and has no manifest of ours"
        raise OutputExistsError(f"{message}; choose another --output, or pass --overwrite")
    for name in names:
        remove(folder / name)
    remove(manifest_path(folder))


def _differences(old: VectorSettings, new: VectorSettings) -> str:
    names = [name for name in asdict(old) if getattr(old, name) != getattr(new, name)]
    return "; ".join(f"{name} {getattr(old, name)}, now {getattr(new, name)}" for name in names)


def _intact(folder: Path, shard: Shard, digest: str, overwrite: bool) -> bool:
    """Whether a shard of an earlier run can stay; the documents must not have changed."""
    path = folder / shard.file
    if shard.input_sha256 != digest:
        _refuse_other_documents(path, overwrite)
        return False
    return path.is_file() and sha256(path) == shard.sha256


def _refuse_other_documents(path: Path, overwrite: bool) -> None:
    if not overwrite:
        message = f"{path} was made from other documents than the corpus has now"
        raise ArtifactError(f"{message}; choose another --output, or pass --overwrite")


def _input_digest(documents: list[Document]) -> str:
    digest = hashlib.sha256()
    for document in documents:
        for part in document:
            digest.update(part.encode() + b"\0")
    return digest.hexdigest()


def _calibrated(corpus: Corpus, model: SpadeModel) -> float:
    """A scale for a model that brings none, from the first documents of the corpus."""
    sample = [document.contents for document in itertools.islice(corpus, SAMPLE)]
    ids = model.wordpieces.document_ids(sample, model.config.max_length)
    weights = [model.weigh(batch).max().item() for batch, _ in _batches(ids, BATCH_TOKENS)]
    scale = calibrate(max(weights, default=0.0), model.config.bits)
    logger.info("the model has no scale: calibrated to %.4f on %d documents", scale, len(ids))
    return scale


class _ShardEncoder:
    """Documents to vectors to a finished shard."""

    def __init__(self, model: SpadeModel, settings: VectorSettings) -> None:
        self.model, self.settings = model, settings

    def write(
        self, folder: Path, number: int, documents: list[Document], digest: str, bar: tqdm[Never]
    ) -> Shard:
        impacts, clipped = self._encode([document.contents for document in documents], bar)
        vectors = [
            ImpactVector(document.docid, impact)
            for document, impact in zip(documents, impacts, strict=True)
        ]
        return Shard(
            file=shard_name(number),
            documents=len(vectors),
            empty=[vector.docid for vector in vectors if not vector.impacts],
            terms=sum(len(vector.impacts) for vector in vectors),
            impacts=sum(sum(vector.impacts.values()) for vector in vectors),
            clipped=clipped,
            sha256=write_shard(folder, number, vectors),
            input_sha256=digest,
        )

    def _encode(self, texts: list[str], bar: tqdm[Never]) -> tuple[list[dict[str, int]], int]:
        settings = self.settings
        ids = self.model.wordpieces.document_ids(texts, settings.max_length)
        impacts: list[dict[str, int]] = [{} for _ in texts]
        clipped = 0
        for batch, places in _batches(ids, settings.batch_tokens):
            weights = self.model.weigh(batch)
            clipped += int((weights * settings.scale > largest_impact(settings.bits) + 0.5).sum())
            vectors = self.model.impacts(weights, settings.scale)
            for place, vector in zip(places, vectors, strict=True):
                impacts[place] = vector
            bar.update(len(batch))
        return impacts, clipped


def _batches(
    ids: list[list[int]], batch_tokens: int
) -> Iterator[tuple[list[list[int]], list[int]]]:
    """Batches of similar length, at most ``batch_tokens`` with padding, and their places."""
    order = sorted(range(len(ids)), key=lambda place: (len(ids[place]), place))
    places: list[int] = []
    for place in order:
        if places and (len(places) + 1) * len(ids[place]) > batch_tokens:
            yield [ids[one] for one in places], places
            places = []
        places.append(place)
    if places:
        yield [ids[one] for one in places], places


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
