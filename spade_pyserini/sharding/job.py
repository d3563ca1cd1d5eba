"""Run a job: collect the shards of all workers in the manifest, then check that none is missing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace

from spade_pyserini.errors import InputError
from spade_pyserini.progress import Progress
from spade_pyserini.sharding.ledger import Ledger
from spade_pyserini.sharding.part import ALL_SHARDS, agreed_size, check_shards
from spade_pyserini.sharding.protocols import Advance, M
from spade_pyserini.sharding.worker import Job, Result, run_here

Runner = Callable[[Job, Advance], Iterator[Result]]
"""A function that starts the workers of a job and yields their results, such as `run_here`."""


@dataclass(frozen=True)
class RunOptions:
    """How to run a job.

    progress: ``bar`` or ``json``, see `Progress`. description: shown with the progress.
    """

    runner: Runner = run_here
    progress: str = "bar"
    description: str = "encoding"


def run_job(job: Job, manifest: M, bad_documents: set[str], options: RunOptions) -> M:
    """Process all shards of ``job``; save and return the complete manifest.

    ``manifest`` is the one that `Output.start` returned. Messages about bad documents are added to
    ``bad_documents``.
    """
    output = job.output
    ledger = Ledger(manifest, output.folder, output.part)
    finished, sizes = set[int](), set[int | None]()
    with (
        closing(ledger),
        closing(Progress(options.progress, task=options.description)) as progress,
    ):
        _count_in_background(job, progress)
        for result in options.runner(job, progress):
            bad_documents.update(result.errors)
            if result.shard is None:
                sizes.add(result.corpus_documents)
                continue
            finished.add(result.shard.number)
            if not result.fresh:
                progress.skip(result.shard.documents, result.shard.terms)
                continue
            if result.companion_sha256:
                output.files.record_companion(output.folder, result.shard, result.companion_sha256)
            ledger.add(result.shard)
    if not finished and output.part == ALL_SHARDS:
        raise InputError("the corpus is empty; give a corpus with documents", job.corpus.source)
    documents = agreed_size(output.folder, sizes)
    for number in sorted(set(ledger.shards) - finished):
        output.remove_stale(ledger.shards.pop(number))
    known = None if output.part == ALL_SHARDS else documents
    complete = replace(ledger.manifest, complete=True, corpus_documents=known)
    check_shards(output.folder, output.part, complete, documents or 0)
    complete.save(output.folder, output.part.manifest)
    return complete


def _count_in_background(job: Job, progress: Progress) -> None:
    """Count the documents of the corpus while the first ones are processed."""

    def count() -> None:
        progress.expect(job.output.part.documents(job.corpus.count()))

    threading.Thread(target=count, daemon=True).start()
