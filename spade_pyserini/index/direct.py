"""The direct builder: write an impact index with Lucene, with impacts stored as term frequencies.

Anserini's builder repeats a term as often as its impact, so its cost grows with the sum of impacts.
The cost of the direct builder grows with the number of postings. ``spade.ImpactIndexer`` does the
work in threads of this process's JVM: each thread reads vectors, inverts them in memory, and passes
them to Lucene as a segment.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from spade_pyserini.errors import JavaError
from spade_pyserini.index.foreign_checks import ForeignChecks, find_repeated
from spade_pyserini.index.pruning import NO_PRUNING, StaticPruning
from spade_pyserini.lucene import jvm
from spade_pyserini.lucene.errors import (
    WRITE,
    report_java_disk_error,
    translate_java_errors,
)
from spade_pyserini.lucene.silence import captured_stderr
from spade_pyserini.progress import counting_bar

BUFFER_MEGABYTES = 256.0  # memory for the vectors that all threads together buffer
CHECK_WRITABLE = "check that the disk has space and that no other process writes there"
POLL_SECONDS = 0.05  # seconds between two updates of the progress bar


class ReadCounts(NamedTuple):
    """Counts of the vectors that a builder has read.

    ``documents`` is the number of all documents, and ``empty_documents`` is the number of documents
    without any term. ``impacts`` is the sum of impacts. ``kept_postings`` and ``kept_impacts`` are
    ``postings`` and ``impacts`` after pruning.
    """

    documents: int
    empty_documents: int
    postings: int
    impacts: int
    kept_postings: int
    kept_impacts: int


@dataclass(frozen=True)
class WriteOptions:
    """Options of `write_index`.

    - ``optimize``: merge all segments into one.
    - ``create``: start a new index. If this is False, the documents are added to an existing index,
      where they replace documents with the same ids.
    - ``pruning``: which terms of a document are indexed.
    - ``checks``: checks for vectors that another tool made; a bad line raises `InputError`.
    """

    optimize: bool = False
    create: bool = True
    pruning: StaticPruning = NO_PRUNING
    checks: ForeignChecks | None = None


NEW_INDEX = WriteOptions()


class NotReadableError(Exception):
    """Java cannot read vectors of another tool, although Python's checks accept them.

    For example, Java's JSON parser rejects a key with an escaped character above U+FFFF.
    """


def write_index(
    files: list[Path],
    index: Path,
    *,
    threads: int,
    total: int | None,
    options: WriteOptions = NEW_INDEX,
) -> ReadCounts:
    """Index all vectors in ``files`` and return the counts of what was read.

    ``total`` is the expected number of documents, for the progress bar. `NotReadableError` is
    raised only if ``options.checks`` is given.
    """
    with captured_stderr():
        with jvm.deferred_interrupt(), translate_java_errors(index, WRITE, CHECK_WRITABLE):
            indexer = _start(files, index, threads, options)
        try:
            _wait(indexer, total)
        except BaseException:
            indexer.stop()
            raise
    if (failure := indexer.failure()) is not None:
        report_java_disk_error(index, failure)
        if options.checks is not None:
            _explain(indexer, files, options.checks)
        cure = "check that memory and disk space are sufficient, and try again"
        raise JavaError(f"Lucene did not index the vectors ({failure}); {cure}")
    return ReadCounts(*indexer.counts())


def _start(files: list[Path], index: Path, threads: int, options: WriteOptions) -> Any:
    names = jvm.java_class("java.util.ArrayList")()
    for file in files:
        names.add(jvm.java_path(file))
    pruning = jvm.spade_class("Pruning")(options.pruning.keep, options.pruning.prune_ratio)
    rules = None
    if (checks := options.checks) is not None:
        vocabulary = None if checks.vocabulary is None else "\n".join(checks.vocabulary)
        rules = jvm.spade_class("ForeignRules")(vocabulary)
    return jvm.spade_class("ImpactIndexer").start(
        names,
        jvm.java_path(index),
        options.create,
        threads,
        BUFFER_MEGABYTES,
        1 if options.optimize else 0,
        pruning,
        rules,
    )


def _explain(indexer: Any, files: list[Path], checks: ForeignChecks) -> None:
    """Raise `InputError` for the bad line or the repeated id that Java has found.

    Raise `NotReadableError` if Python finds no error there. Return if Java failed for another
    reason.
    """
    if (file := indexer.badFile()) is not None:
        path = next(path for path in files if jvm.java_path(path) == file)
        checks.check_file(path, indexer.badLine())
    elif (docid := indexer.repeatedId()) is not None:
        find_repeated(files, docid)
    else:
        return
    raise NotReadableError(indexer.failure())


def _wait(indexer: Any, total: int | None) -> None:
    """Update a progress bar until the indexer is done."""
    with counting_bar("indexing", "documents", total) as bar:
        done = False
        while not done:
            # `done` is called before the count is read: if the indexer is done, the count is final.
            done = indexer.done()
            bar.update(indexer.documents() - bar.n)
            if not done:
                time.sleep(POLL_SECONDS)
