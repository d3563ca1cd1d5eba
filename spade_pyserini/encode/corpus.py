"""Encode a corpus: compute the settings that depend on the corpus, then encode its shards."""

from __future__ import annotations

import itertools
import logging
from dataclasses import replace
from functools import partial
from pathlib import Path

from spade_pyserini.corpora import Corpus
from spade_pyserini.corpora.checks import ErrorLimit, OnError
from spade_pyserini.corpora.recorded import record_source
from spade_pyserini.encode.calibration import calibrated_scale
from spade_pyserini.encode.corpus_pruning import describe_removed
from spade_pyserini.encode.counts_file import (
    check_counts_file,
    copy_counts,
    counts_of_other_part,
    ensure_counts,
)
from spade_pyserini.encode.files import VectorFiles
from spade_pyserini.encode.options import DEFAULTS, EncodeOptions
from spade_pyserini.encode.summary import log_summary
from spade_pyserini.encode.task import VectorTask
from spade_pyserini.errors import UsageError, describe_differences
from spade_pyserini.formats.paths import location
from spade_pyserini.formats.tables import counted
from spade_pyserini.formats.vector_manifest import VectorManifest, VectorSettings
from spade_pyserini.models.dual_encoder import DualEncoder
from spade_pyserini.models.encoder import SpadeEncoder
from spade_pyserini.models.protocols import CorpusEncoder, DocumentEncoder, needs_counts
from spade_pyserini.sharding.job import Runner, RunOptions, run_job
from spade_pyserini.sharding.part import ALL_SHARDS
from spade_pyserini.sharding.resume import Output
from spade_pyserini.sharding.worker import Job, run_here

logger = logging.getLogger(__name__)
# Settings that may be computed from the corpus. The values here mean "not computed yet".
UNDECIDED = {"scale": 0.0, "counts_sha256": None}
# Settings on which the computed values of `UNDECIDED` depend.
FITTED_TO = ("corpus", "fields", "model_fingerprint", "max_length")
SAMPLE = 200  # number of documents from which the scale is computed


def encode_corpus(
    corpus: Corpus,
    encoder: DocumentEncoder | DualEncoder,
    output: str | Path,
    options: EncodeOptions = DEFAULTS,
) -> VectorManifest:
    """Write the impact vectors of ``corpus`` to the folder ``output``; return their manifest.

        encode_corpus(open_corpus("pydoc"), model, "encode/pydoc.mine", EncodeOptions(processes=2))

    If an earlier call with the same arguments was interrupted, its finished shards are kept, and
    only the other shards are encoded. A complete output is left unchanged. It is an error if the
    output has other settings or other documents. With ``options.overwrite``, an output that is
    complete, or that has other settings or documents, is replaced. The encoder is a `SpadeModel`
    or any other `DocumentEncoder`; it is not changed.
    """
    if isinstance(encoder, DualEncoder):
        encoder = SpadeEncoder(encoder)
    runner = _runner(encoder, options)
    files = VectorFiles.of(encoder, options.components)
    target = Output(location(output), files, options.part, options.overwrite)
    with target.locked() as bad_documents:
        with target.setup_lock():
            setup = _Setup(corpus, encoder, target, options, bad_documents)
            fitted, manifest = setup.run()
        job = Job(
            corpus=corpus,
            task=VectorTask(fitted, manifest.settings, options.components),
            output=target,
            shard_size=options.shard_size,
            earlier={shard.number: shard for shard in manifest.shards},
            max_errors=options.max_errors,
        )
        run_options = RunOptions(runner, options.progress)
        complete = run_job(job, manifest, bad_documents, run_options)
        log_summary(complete, target.folder, target.part, earlier=manifest)
    return complete


def _runner(encoder: DocumentEncoder, options: EncodeOptions) -> Runner:
    """Choose where the workers run: in this process, in several processes or on a Ray cluster.

    Raises `UsageError` if options contradict each other.
    """
    if options.part != ALL_SHARDS and options.components:
        message = "components=True is not possible for a part of an encoding"
        raise UsageError(f"{message}; leave out shard_id=I and shard_num=N")
    if options.ray is not None:
        from spade_pyserini.sharding.cluster import RayCluster

        return RayCluster(options.ray)
    if options.processes == 1:
        return run_here
    from spade_pyserini.sharding.processes import Processes, devices

    devices(str(encoder.device), options.processes)
    return Processes(options.processes)


class _Setup:
    """Prepares an encoding: settings, term counts, scale, manifest.

    Settings that depend on the corpus are taken from an earlier run if that run had the same
    corpus, columns, passages, model and maximum length. Otherwise these settings are computed.
    """

    def __init__(
        self,
        corpus: Corpus,
        encoder: DocumentEncoder,
        target: Output[VectorManifest],
        options: EncodeOptions,
        bad_documents: set[str],
    ) -> None:
        self.corpus, self.encoder, self.target, self.options = corpus, encoder, target, options
        self.tolerance = partial(ErrorLimit, options.max_errors, bad_documents)

    def run(self) -> tuple[DocumentEncoder, VectorManifest]:
        """Prepare the work; return the encoder for this corpus and a new or earlier manifest."""
        settings = self._settings()
        earlier = self.target.load_earlier()
        undecided = [name for name, value in UNDECIDED.items() if getattr(settings, name) == value]
        self.target.refuse_changed_settings(earlier, settings, undecided)
        self._refuse_other_segment(earlier)
        fitted, settings = self._fit(settings, self._comparable(earlier, settings))
        manifest = self.target.start(settings, earlier)
        # A complete manifest must not change: the manifests of indexes contain its digest.
        if not manifest.complete:
            source, folder = record_source(self.corpus), self.options.model_folder
            manifest = replace(manifest, source=source, model_folder=folder)
        return fitted, replace(manifest, removed_expansions=list(fitted.removed))

    def _refuse_other_segment(self, earlier: VectorManifest | None) -> None:
        """Raise `OutputExistsError` if the earlier run divided documents in another way.

        This is not one of the settings, but the manifest records it with the source of the corpus.
        """
        if earlier is None or not earlier.source or self.target.overwrite:
            return
        before, now = earlier.source.get("segment"), self.corpus.segment
        shown = describe_differences({"segment": before or "none"}, {"segment": now or "none"})
        if shown:
            raise self.target.other_settings(shown)

    def _settings(self) -> VectorSettings:
        """Return the settings that are known before the corpus is read."""
        encoder, options, config = self.encoder, self.options, self.encoder.config
        counts = None if options.counts is None else location(options.counts)
        return VectorSettings(
            corpus=self.corpus.name,
            model=options.model_name,
            model_fingerprint=encoder.fingerprint,
            tokenizer_fingerprint=encoder.wordpieces.fingerprint,
            alpha=config.alpha,
            k=config.k,
            max_length=config.max_length,
            bits=config.bits,
            scale=config.scale or 0.0,
            shard_size=options.shard_size,
            batch_tokens=options.batch_tokens,
            precision=encoder.precision,
            saturate=config.saturate,
            prune_ratio=config.prune_ratio,
            corpus_gamma=config.corpus_gamma,
            counts_sha256=None if counts is None else check_counts_file(counts, encoder),
            fields=self.corpus.fields,
            system=encoder.system,
        )

    def _comparable(
        self, earlier: VectorManifest | None, settings: VectorSettings
    ) -> VectorSettings | None:
        """Return the settings of the earlier run if both runs have the same texts and model."""
        if earlier is None or earlier.source.get("segment") != self.corpus.segment:
            return None
        same = all(getattr(earlier.settings, name) == getattr(settings, name) for name in FITTED_TO)
        return earlier.settings if same else None

    def _fit(
        self, settings: VectorSettings, earlier: VectorSettings | None
    ) -> tuple[DocumentEncoder, VectorSettings]:
        """Compute counts and scale if needed; return the encoder and the complete settings."""
        encoder = self.encoder
        if needs_counts(encoder):
            known = self._known_counts(encoder, settings, earlier)
            stored = ensure_counts(
                self.corpus,
                encoder,
                self.target.folder,
                known,
                self.tolerance(),
                self.options.progress,
            )
            encoder = stored.encoder
            if encoder.config.corpus_gamma:
                logger.info("%s", describe_removed(encoder.removed))
            settings = replace(settings, counts_sha256=stored.sha256)
        if not settings.scale:
            scale = earlier.scale if earlier else _calibrate(encoder, self.corpus, self.tolerance())
            settings = replace(settings, scale=scale)
        return encoder, settings

    def _known_counts(
        self, encoder: CorpusEncoder, settings: VectorSettings, earlier: VectorSettings | None
    ) -> str | None:
        """Return the digest of the counts file to use, or None if the corpus must be counted.

        A counts file that the user gives is copied next to the output folder.
        """
        folder = self.target.folder
        if self.options.counts is not None:
            copy_counts(location(self.options.counts), folder)
            return settings.counts_sha256
        if earlier is not None:
            return earlier.counts_sha256
        if self.target.part == ALL_SHARDS:
            return None
        return counts_of_other_part(self.corpus, encoder, folder, self.target.overwrite)


def _calibrate(encoder: DocumentEncoder, corpus: Corpus, on_error: OnError) -> float:
    """Compute a scale from the first documents of the corpus, for a model without a scale."""
    sample = [
        document.contents for document in itertools.islice(corpus.documents(on_error), SAMPLE)
    ]
    scale = calibrated_scale(encoder, sample)
    shown = counted(len(sample), "document")
    logger.info("the model has no scale; computed %.4f from %s", scale, shown)
    return scale
