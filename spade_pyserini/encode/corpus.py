"""Encode a corpus into shards of a fixed number of documents.

A shard is written under a temporary name and moved into place; then the manifest knows it. A killed
run therefore loses no more than the shards that its workers had in hand, and the same call goes on
where it stopped. Batches are made inside a shard, so a shard's bytes do not depend on where the
run started, nor on who encodes it.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from spade_pyserini.components import record, remove_components
from spade_pyserini.corpora import Corpus
from spade_pyserini.encode.counts import copy_counts, counts_of, read_corpus
from spade_pyserini.encode.output import found_manifest, refuse_other_documents, start
from spade_pyserini.encode.part import WHOLE, Part
from spade_pyserini.encode.progress import Progress
from spade_pyserini.encode.shard import BATCH_TOKENS, calibrated_scale
from spade_pyserini.encode.worker import Job, Result, Worker
from spade_pyserini.errors import InputError, UsageError
from spade_pyserini.files import atomic_write, beside, location, lock, remove
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
    processes: int = 1,
    ray: str | None = None,
    part: Part = WHOLE,
    max_errors: int = 0,
    progress: str = "bar",
    counts: str | Path | None = None,
) -> VectorManifest:
    """Write the vectors of ``corpus`` to the folder ``output``; return their manifest.

    With ``components`` the two encoders' vectors are kept beside it, see
    `spade_pyserini.components`; shards that lack them are encoded again. Up to ``max_errors`` bad
    documents are left out, and listed in ``OUTPUT.errors.txt``. ``counts`` is the file beside the
    vectors of another corpus, for documents that are to be added to it.

    An output that the same call left unfinished is completed, a finished one is left alone, and
    one with other settings is refused unless ``overwrite``.
    """
    folder = location(output)
    if part != WHOLE and components:
        raise UsageError("components are kept by one run for all shards; leave --shard-id out")
    with lock(part.locked(folder)):
        found = found_manifest(folder, overwrite, part)
        counted = None  # anew, unless this encoding or that of another part was begun
        if found and found.settings.corpus == corpus.name:
            counted = found.settings.counts_sha256
        elif part != WHOLE:
            counted = counts_of(corpus, folder)
        if counts is not None:
            counted = copy_counts(Path(counts), folder)
        digest = read_corpus(corpus, model, folder, known=counted, max_errors=max_errors)
        settings = _settings(
            corpus,
            model,
            found,
            digest,
            model_name=model_name,
            shard_size=shard_size,
            batch_tokens=batch_tokens,
        )
        manifest = start(folder, settings, model, found, overwrite, part)
        known = {shard.number: shard for shard in manifest.shards}
        job = Job(corpus, model, folder, settings, known, overwrite, components, max_errors)
        shards, errors = dict(known), set[str]()
        done: set[int] = set()
        with closing(Progress(progress)) as bar:
            _count(corpus, bar)
            for result in _results(job, part, processes, ray, bar):
                done.add(result.number)
                errors.update(result.errors)
                if not result.fresh:
                    bar.skip(result.shard.documents, result.shard.terms)
                    continue
                if result.components:
                    record(folder, result.shard, result.components)
                shards[result.number] = result.shard
                _with(manifest, shards).save(folder, part.manifest)
        if not done and part == WHOLE:
            raise InputError("the corpus is empty", corpus.source)
        for number in sorted(set(shards) - done):
            refuse_other_documents(folder / shards[number].file, overwrite)
            remove(folder / shards[number].file)
            remove_components(folder, [shards.pop(number).file])
        manifest = replace(_with(manifest, shards), complete=True)
        manifest.save(folder, part.manifest)
        _report(manifest, folder)
        _report_errors(sorted(errors), folder)
        return manifest


def _results(
    job: Job, part: Part, processes: int, ray: str | None, progress: Progress
) -> Iterator[Result]:
    """From workers here, in other processes, or on a cluster (``ray``)."""
    if ray is not None:
        from spade_pyserini.encode.cluster import run_on_ray

        return run_on_ray(job, part, ray, progress)
    if processes == 1:
        numbers = map(part.shard, itertools.count())
        return Worker(job, progress).run(numbers)
    from spade_pyserini.encode.processes import run_processes

    return run_processes(job, part, processes, progress)


def _with(manifest: VectorManifest, shards: dict[int, Shard]) -> VectorManifest:
    return replace(manifest, shards=[shards[number] for number in sorted(shards)])


def _count(corpus: Corpus, progress: Progress) -> None:
    """Find out how many documents there are while the first are being encoded."""

    def count() -> None:
        progress.expect(corpus.count())

    threading.Thread(target=count, daemon=True).start()


def _settings(
    corpus: Corpus,
    model: SpadeModel,
    found: VectorManifest | None,
    counts: str | None,
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
        counts_sha256=counts,
        precision=model.precision,
        saturate=model.config.saturate,
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


def _report_errors(errors: list[str], folder: Path) -> None:
    path = beside(folder, "errors.txt")
    if not errors:
        remove(path)
        return
    with atomic_write(path) as stream:
        stream.write("".join(f"{error}\n" for error in errors).encode())
    logger.warning("%d bad documents were left out: %s (see %s)", len(errors), errors[0], path)
