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
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path

from spade_pyserini.components import record, remove_components
from spade_pyserini.corpora import Corpus
from spade_pyserini.corpora.checks import Tolerance
from spade_pyserini.encode.counts import check_counts, copy_counts, counts_of, read_corpus
from spade_pyserini.encode.output import (
    found_manifest,
    refuse_other_documents,
    refuse_other_settings,
    start,
)
from spade_pyserini.encode.part import WHOLE, Part
from spade_pyserini.encode.progress import Progress
from spade_pyserini.encode.shard import BATCH_TOKENS, calibrated_scale
from spade_pyserini.encode.worker import Job, Result, Worker
from spade_pyserini.errors import InputError, UsageError
from spade_pyserini.files import beside, location, lock, remove, write_lines
from spade_pyserini.models import SpadeModel
from spade_pyserini.vectors import Shard, VectorManifest, VectorSettings

logger = logging.getLogger(__name__)
SHARD_SIZE = 2000
TO_BE_FOUND = {"scale": 0.0, "counts_sha256": None}  # settings that the corpus may have to give
FITTED = ("corpus", "model_fingerprint", "max_length")  # what they depend on
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
        settings = VectorSettings(
            corpus=corpus.name,
            model=model_name,
            model_fingerprint=model.fingerprint,
            tokenizer_fingerprint=model.wordpieces.fingerprint,
            alpha=model.config.alpha,
            k=model.config.k,
            max_length=model.config.max_length,
            bits=model.config.bits,
            scale=model.config.scale or 0.0,
            shard_size=shard_size,
            batch_tokens=batch_tokens,
            precision=model.precision,
            saturate=model.config.saturate,
            counts_sha256=None if counts is None else check_counts(location(counts), model),
        )
        if found and not overwrite:
            refuse_other_settings(folder, found.settings, settings, TO_BE_FOUND)
        # Parts that start together: one counts, the others wait and take what it counted.
        with lock(folder, wait=True) if part != WHOLE else nullcontext():
            if counts is not None:
                copy_counts(location(counts), folder)
            begun = found.settings if found else None
            settings = _fit(corpus, model, folder, settings, begun, max_errors, part)
            manifest = start(folder, settings, model, found, overwrite, part)
        known = {shard.number: shard for shard in manifest.shards}
        job = Job(corpus, model, folder, settings, known, overwrite, components, max_errors)
        shards, errors = dict(known), set[str]()
        done: set[int] = set()
        with closing(Progress(progress)) as bar:
            _count(corpus, part, bar)
            for shard, fresh, kept, met in _results(job, part, processes, ray, bar):
                errors.update(met)
                if shard is None:
                    continue
                done.add(shard.number)
                if not fresh:
                    bar.skip(shard.documents, shard.terms)
                    continue
                if kept:
                    record(folder, shard, kept)
                shards[shard.number] = shard
                _with(manifest, shards).save(folder, part.manifest)
        if not done and part == WHOLE:
            raise InputError("the corpus is empty", corpus.source)
        for number in sorted(set(shards) - done):
            refuse_other_documents(folder / shards[number].file, overwrite)
            remove(folder / shards[number].file)
            remove_components(folder, [shards.pop(number).file])
        manifest = replace(_with(manifest, shards), complete=True)
        manifest.save(folder, part.manifest)
        _report(manifest, folder, part)
        _report_errors(sorted(errors), part.errors_path(folder))
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


def _count(corpus: Corpus, part: Part, progress: Progress) -> None:
    """Find out how many documents there are while the first are being encoded."""

    def count() -> None:
        progress.expect(part.documents(corpus.count()))

    threading.Thread(target=count, daemon=True).start()


def _fit(
    corpus: Corpus,
    model: SpadeModel,
    folder: Path,
    settings: VectorSettings,
    begun: VectorSettings | None,
    max_errors: int,
    part: Part,
) -> VectorSettings:
    """Fit the model to the corpus, as the run that was begun did; settings with what that gave."""
    known = settings.counts_sha256
    if begun and any(getattr(begun, name) != getattr(settings, name) for name in FITTED):
        begun = None
    if begun and known is None:
        known = begun.counts_sha256
    elif known is None and part != WHOLE:
        known = counts_of(corpus, model, folder)
    digest = read_corpus(corpus, model, folder, known=known, max_errors=max_errors)
    scale = settings.scale or (begun.scale if begun else _calibrated(corpus, model, max_errors))
    return replace(settings, counts_sha256=digest, scale=scale)


def _calibrated(corpus: Corpus, model: SpadeModel, max_errors: int) -> float:
    """A scale for a model that brings none, from the first documents of the corpus."""
    first = itertools.islice(corpus.documents(Tolerance(max_errors)), SAMPLE)
    sample = [document.contents for document in first]
    scale = calibrated_scale(model, sample)
    logger.info("the model has no scale: calibrated to %.4f on %d documents", scale, len(sample))
    return scale


def _report(manifest: VectorManifest, folder: Path, part: Part) -> None:
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
            beside(folder, part.manifest).name,
        )
    clipped = sum(shard.clipped for shard in manifest.shards)
    if clipped:
        logger.info("%d impacts were above the largest value and cut off there", clipped)


def _report_errors(errors: list[str], path: Path) -> None:
    if not errors:
        remove(path)
        return
    write_lines(path, errors)
    logger.warning("%d bad documents were left out: %s (see %s)", len(errors), errors[0], path)
