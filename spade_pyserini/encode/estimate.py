"""Estimate an encoding before it starts: its time, and the sizes of the vectors and the index.

A sample of the documents is encoded into a temporary folder, by one worker that has as many threads
as a worker of the real encoding. The time for the complete corpus is extrapolated from the measured
number of documents per second.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Never

import torch
from tqdm import tqdm

from spade_pyserini.corpora import Corpus
from spade_pyserini.corpora.checks import ErrorLimit, number_documents
from spade_pyserini.encode.calibration import calibrated_scale
from spade_pyserini.encode.corpus_pruning import SAMPLE as PRUNING_SAMPLE
from spade_pyserini.encode.counts_file import ensure_counts, fit_encoder
from spade_pyserini.encode.options import DEFAULTS, SHARD_SIZE, EncodeOptions
from spade_pyserini.encode.task import VectorTask
from spade_pyserini.errors import InputError
from spade_pyserini.formats.paths import folder_bytes, location
from spade_pyserini.formats.vector_manifest import VectorSettings
from spade_pyserini.models.dual_encoder import DualEncoder
from spade_pyserini.models.encoder import SpadeEncoder
from spade_pyserini.models.protocols import DocumentEncoder, needs_counts
from spade_pyserini.progress import counting_bar, duration
from spade_pyserini.records import Document
from spade_pyserini.sharding.protocols import Advance

SAMPLE = 256  # documents to encode
READ = 20_000  # the sample is spread over this many documents at the beginning of the corpus
WARM_UP = 8  # documents to encode before the time is measured
SMALL_SHARD = 100  # a smaller shard size is not recommended
SHARDS_PER_WORKER = 4  # with so many shards, all workers finish at about the same time
WORTHWHILE = 0.9  # recommend a shard size that takes less than this share of the time
# Measured on Lucene indexes of 100,000 and 1,000,000 documents with 78 to 277 terms each; see
# docs/results/indexing-and-latency.md.
INDEX_BYTES_PER_POSTING = 2.2


@dataclass(frozen=True)
class Estimate:
    """The estimated time and size of an encoding of ``documents`` documents.

    sample: number of documents that were encoded for the estimate.
    read: number of documents at the beginning of the corpus from which the sample was taken.
    rate: number of documents that one worker encodes in a second.
    workers: number of workers, in all parts together.
    counting: seconds to count the terms of the corpus before it is encoded, including corpus-level
        pruning; 0 if the model needs no counts, or if a counts file is given.
    terms: terms per document.
    vector_bytes: bytes of a compressed vector.
    shard_size: number of documents in a shard. A worker encodes complete shards.
    complete: False if the size of the corpus is unknown; then ``documents`` is equal to ``read``.
    """

    documents: int
    sample: int
    read: int
    rate: float
    workers: int
    counting: float
    terms: float
    vector_bytes: float
    shard_size: int = SHARD_SIZE
    complete: bool = True

    @property
    def most(self) -> int:
        """The number of documents of the worker that encodes the most."""
        full, rest = divmod(self.documents, self.shard_size)
        rounds, left = divmod(full, self.workers)
        return (rounds + 1) * self.shard_size if left else rounds * self.shard_size + rest

    @property
    def seconds(self) -> float:
        """Seconds until the last worker has finished, including the counting of terms."""
        return self.counting + self.most / self.rate

    @property
    def better(self) -> Estimate | None:
        """The estimate for smaller shards, if the work is then divided much more equally."""
        size = max(SMALL_SHARD, -(-self.documents // (SHARDS_PER_WORKER * self.workers)))
        if size >= self.shard_size:
            return None
        smaller = replace(self, shard_size=size)
        return smaller if smaller.seconds < WORTHWHILE * self.seconds else None

    @property
    def vectors_size(self) -> float:
        """The size of all vectors in bytes."""
        return self.documents * self.vector_bytes

    @property
    def index_size(self) -> float:
        """The size of a Lucene index of all vectors in bytes."""
        return self.documents * self.terms * INDEX_BYTES_PER_POSTING


def estimate_encoding(
    corpus: Corpus,
    encoder: DocumentEncoder | DualEncoder,
    options: EncodeOptions = DEFAULTS,
    sample: int = SAMPLE,
) -> Estimate:
    """Encode a sample of ``corpus`` and extrapolate. Writes nothing but temporary files."""
    if isinstance(encoder, DualEncoder):
        encoder = SpadeEncoder(encoder)
    documents, read = _choose(corpus, options, sample)
    total = corpus.count() if read == READ else read
    with tempfile.TemporaryDirectory() as name, _threads_of_a_worker(encoder, options):
        folder = Path(name, "vectors")
        folder.mkdir()
        fitted, counting = _fit(corpus, documents, encoder, folder, options)
        task = _task(fitted, documents, options)
        task.compute(task.prepare(0, documents[:WARM_UP], ""), lambda *_: None)
        started = time.perf_counter()
        with counting_bar("encoding a sample", "documents", len(documents), leave=False) as bar:
            prepared = task.prepare(0, documents, "")
            shard = task.write(folder, task.compute(prepared, _advance(bar))).shard
        elapsed = time.perf_counter() - started
        size = folder_bytes(folder)
    per_document = counting / len(documents)
    rate = len(documents) / elapsed
    known = total or read
    # Before the encoding, corpus-level pruning encodes a sample of the corpus at the same speed.
    prunes = encoder.config.corpus_gamma and options.counts is None
    pruning = min(PRUNING_SAMPLE, known) / rate if prunes else 0.0
    return Estimate(
        documents=known,
        sample=len(documents),
        read=read,
        rate=rate,
        workers=options.processes * options.part.shard_num,
        counting=known * per_document + pruning if needs_counts(encoder) else 0.0,
        terms=shard.terms / len(documents),
        vector_bytes=size / len(documents),
        shard_size=options.shard_size,
        complete=total is not None,
    )


def _advance(bar: tqdm[Never]) -> Advance:
    """Return a function that advances the bar by the documents of a batch."""

    def advance(documents: int, _: int) -> None:
        bar.update(documents)

    return advance


def _choose(corpus: Corpus, options: EncodeOptions, sample: int) -> tuple[list[Document], int]:
    """Return a sample of the first `READ` documents, and the number of documents that were read.

    The sample has up to ``sample`` documents, which are evenly spread.
    """
    first: list[Document] = []
    with counting_bar("reading documents", "documents", leave=False) as bar:
        for document in corpus.documents(ErrorLimit(options.max_errors, set())):
            first.append(document)
            bar.update()
            if len(first) == READ:
                break
    if not first:
        raise InputError("the corpus is empty; give a corpus with documents", corpus.source)
    chosen = min(sample, len(first))
    return [first[number * len(first) // chosen] for number in range(chosen)], len(first)


@contextmanager
def _threads_of_a_worker(encoder: DocumentEncoder, options: EncodeOptions) -> Iterator[None]:
    """Within the ``with`` block, use as many threads as a worker process of the real encoding."""
    before = torch.get_num_threads()
    if options.processes > 1 and str(encoder.device) == "cpu":
        torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // options.processes))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _fit(
    corpus: Corpus,
    documents: list[Document],
    encoder: DocumentEncoder,
    folder: Path,
    options: EncodeOptions,
) -> tuple[DocumentEncoder, float]:
    """Return the encoder with the term counts that it needs, and the seconds spent on counting."""
    if not needs_counts(encoder):
        return encoder, 0.0
    if options.counts is not None:
        return fit_encoder(encoder, location(options.counts)), 0.0
    part = replace(corpus, read=lambda _: number_documents(documents, corpus.source))
    # Do not prune here. The time of pruning does not grow with the corpus, so `estimate_encoding`
    # adds it separately.
    plain = encoder.with_settings(corpus_gamma=0.0) if encoder.config.corpus_gamma else encoder
    started = time.perf_counter()
    limit = ErrorLimit(options.max_errors, set())
    fitted = ensure_counts(part, plain, folder, None, limit, options.progress).encoder
    return fitted, time.perf_counter() - started


def _task(
    encoder: DocumentEncoder, documents: list[Document], options: EncodeOptions
) -> VectorTask:
    """Return the task of a worker, with the settings that affect the time and the sizes."""
    config = encoder.config
    scale = config.scale or calibrated_scale(
        encoder, [document.contents for document in documents[:WARM_UP]]
    )
    settings = VectorSettings(
        corpus="",
        model=options.model_name,
        model_fingerprint="",
        tokenizer_fingerprint="",
        alpha=config.alpha,
        k=config.k,
        max_length=config.max_length,
        bits=config.bits,
        scale=scale,
        shard_size=options.shard_size,
        batch_tokens=options.batch_tokens,
    )
    return VectorTask(encoder, settings)


def show_estimate(estimate: Estimate, options: EncodeOptions = DEFAULTS) -> str:
    """Return the estimate as lines for a terminal. They may name the parameter ``shard_size``."""
    known = "" if estimate.complete else " were read; the size of the corpus is unknown"
    parts = options.part.shard_num
    workers = f"{options.processes} process{'es' if options.processes > 1 else ''}"
    if parts > 1:
        workers = f"{parts} parts at the same time, {workers} each"
    lines = [
        f"documents  {estimate.documents:,}{known}",
        f"sample     {estimate.sample:,} of the first {estimate.read:,} documents, "
        f"{estimate.rate:.1f} documents per second per worker",
        f"time       {duration(estimate.seconds)}, {workers}",
        f"vectors    {_size(estimate.vectors_size)}, {estimate.terms:.0f} terms per document",
        f"index      {_size(estimate.index_size)}",
    ]
    if estimate.counting:
        lines.insert(
            3, f"           including {duration(estimate.counting)} to count the terms first"
        )
    if better := estimate.better:
        lines.append(
            f"\nA worker encodes up to {estimate.most:,} documents, because shards have "
            f"{estimate.shard_size:,};\nwith shard_size={better.shard_size}, the encoding takes "
            f"{duration(better.seconds)}."
        )
    return "\n".join(lines)


def _size(number: float) -> str:
    return f"{number / 1e9:.1f} GB" if number >= 1e9 else f"{number / 1e6:.2f} MB"
