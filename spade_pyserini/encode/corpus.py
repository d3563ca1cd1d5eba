"""Encode a corpus into shards of a fixed number of documents.

A shard is written under a temporary name and moved into place; then the manifest knows it, within
seconds. A killed run therefore loses no more than the shards that its workers had in hand, and
those of the last seconds, and the same call goes on where it stopped. Batches are made inside a
shard, so a shard's bytes do not depend on where the run started, nor on who encodes it.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from spade_pyserini.corpora import Corpus
from spade_pyserini.corpora.checks import OnError, Tolerance
from spade_pyserini.encode.counts_file import check_counts_file, copy_counts, counts_of, read_corpus
from spade_pyserini.encode.ledger import Ledger
from spade_pyserini.encode.part import WHOLE, Part, agreed, check_numbers
from spade_pyserini.encode.resume import (
    earlier_manifest,
    refuse_changed_documents,
    refuse_changed_settings,
    start,
)
from spade_pyserini.encode.shard import BATCH_TOKENS, calibrated_scale
from spade_pyserini.encode.worker import Job, Result, Worker
from spade_pyserini.errors import InputError, UsageError
from spade_pyserini.formats.components import record, remove_components
from spade_pyserini.formats.files import location, lock, remove, sibling, write_lines
from spade_pyserini.formats.vectors import Shard, VectorManifest, VectorSettings
from spade_pyserini.models import SpadeEncoder, SpadeModel
from spade_pyserini.progress import Progress

logger = logging.getLogger(__name__)
SHARD_SIZE = 2000
TO_BE_FOUND = {"scale": 0.0, "counts_sha256": None}  # settings that the corpus may have to give
FITTED = ("corpus", "model_fingerprint", "max_length")  # what they depend on
SAMPLE = 200  # documents that an uncalibrated model's scale is taken from


def encode_corpus(
    corpus: Corpus,
    model: SpadeModel | SpadeEncoder,
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
    encoder, folder = _encoder(model), location(output)
    if part != WHOLE and components:
        raise UsageError("components are kept by one run for all shards; leave --shard-id out")
    if processes > 1:
        from spade_pyserini.encode.processes import devices

        devices(encoder, processes)  # a wrong call is told before the corpus is counted
    with lock(part.locked(folder)), _listed(part.errors_path(folder)) as errors:
        tolerance = partial(Tolerance, max_errors, errors)
        settings = VectorSettings(
            corpus=corpus.name,
            model=model_name,
            model_fingerprint=encoder.fingerprint,
            tokenizer_fingerprint=encoder.wordpieces.fingerprint,
            alpha=encoder.config.alpha,
            k=encoder.config.k,
            max_length=encoder.config.max_length,
            bits=encoder.config.bits,
            scale=encoder.config.scale or 0.0,
            shard_size=shard_size,
            batch_tokens=batch_tokens,
            precision=encoder.precision,
            saturate=encoder.config.saturate,
            counts_sha256=None if counts is None else check_counts_file(location(counts), encoder),
        )
        # Parts that start together: one counts, the others wait and take what it counted.
        with lock(folder, wait=True) if part != WHOLE else nullcontext():
            found = earlier_manifest(folder, overwrite, part)
            if found and not overwrite:
                refuse_changed_settings(folder, found.settings, settings, TO_BE_FOUND)
            if counts is not None:
                copy_counts(location(counts), folder)
            begun = _begun(found, settings)
            known = settings.counts_sha256
            if begun:
                known = known or begun.counts_sha256
            elif part != WHOLE:
                known = known or counts_of(corpus, encoder, folder, overwrite)
            settings, encoder = _fit(
                corpus, encoder, folder, settings, begun, known, tolerance, progress
            )
            manifest = start(folder, settings, encoder, found, overwrite, part)
        ledger = Ledger(manifest, folder, part)
        old = dict(ledger.shards)
        job = Job(corpus, encoder, folder, settings, old, overwrite, components, max_errors)
        done, ends = set[int](), set[int | None]()
        with closing(ledger), closing(Progress(progress)) as bar:
            _count(corpus, part, bar)
            for shard, fresh, kept, met, seen in _results(job, part, processes, ray, bar):
                errors.update(met)
                if shard is None:
                    ends.add(seen)
                    continue
                done.add(shard.number)
                if not fresh:
                    bar.skip(shard.documents, shard.terms)
                    continue
                if kept:
                    record(folder, shard, kept)
                ledger.add(shard)
        if not done and part == WHOLE:
            raise InputError("the corpus is empty", corpus.source)
        documents = agreed(folder, ends)
        for number in sorted(set(ledger.shards) - done):
            _remove(folder, ledger.shards.pop(number), overwrite)
        told = None if part == WHOLE else documents
        manifest = replace(ledger.manifest, complete=True, corpus_documents=told)
        check_numbers(folder, part, manifest, documents or 0)
        manifest.save(folder, part.manifest)
        _report(manifest, folder, part)
        return manifest


def _encoder(model: SpadeModel | SpadeEncoder) -> SpadeEncoder:
    return model if isinstance(model, SpadeEncoder) else SpadeEncoder(model)


def _remove(folder: Path, shard: Shard, overwrite: bool) -> None:
    """A shard of an earlier run that the corpus has no documents for any more."""
    refuse_changed_documents(folder / shard.file, overwrite)
    remove(folder / shard.file)
    remove_components(folder, [shard.file])


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


def _count(corpus: Corpus, part: Part, progress: Progress) -> None:
    """Find out how many documents there are while the first are being encoded."""

    def count() -> None:
        progress.expect(part.documents(corpus.count()))

    threading.Thread(target=count, daemon=True).start()


def _begun(found: VectorManifest | None, settings: VectorSettings) -> VectorSettings | None:
    """The settings of the run to go on with, if what it found out holds for this one."""
    if found and all(getattr(found.settings, one) == getattr(settings, one) for one in FITTED):
        return found.settings
    return None


def _fit(
    corpus: Corpus,
    encoder: SpadeEncoder,
    folder: Path,
    settings: VectorSettings,
    begun: VectorSettings | None,
    known: str | None,
    tolerance: Callable[[], Tolerance],
    progress: str,
) -> tuple[VectorSettings, SpadeEncoder]:
    """Return settings and encoder with the counts and the scale that the corpus gives."""
    digest, fitted = read_corpus(
        corpus, encoder, folder, known=known, on_error=tolerance(), progress=progress
    )
    scale = settings.scale or (begun.scale if begun else _calibrated(corpus, fitted, tolerance()))
    return replace(settings, counts_sha256=digest, scale=scale), fitted


def _calibrated(corpus: Corpus, encoder: SpadeEncoder, on_error: OnError) -> float:
    """A scale for a model that brings none, from the first documents of the corpus."""
    first = itertools.islice(corpus.documents(on_error), SAMPLE)
    sample = [document.contents for document in first]
    scale = calibrated_scale(encoder, sample)
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
            sibling(folder, part.manifest).name,
        )
    clipped = sum(shard.clipped for shard in manifest.shards)
    if clipped:
        logger.info("%d impacts were above the largest value and cut off there", clipped)


@contextmanager
def _listed(path: Path) -> Iterator[set[str]]:
    """A set of bad documents that is written to ``path``, however the run ends."""
    errors: set[str] = set()
    try:
        yield errors
        if not errors:
            remove(path)
    finally:
        if errors:
            write_lines(path, sorted(errors))
            message = "%d bad documents were left out: %s (see %s)"
            logger.warning(message, len(errors), min(errors), path)
