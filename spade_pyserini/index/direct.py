"""The direct builder: write an impact index with Lucene, impacts as term frequencies.

Anserini repeats a term as often as its impact, so its cost grows with the sum of impacts; the cost
of this builder grows with the number of terms. ``spade.ImpactIndexer`` does the work in threads of
this process's JVM: each thread reads vectors, inverts them in memory, and hands them to Lucene as a
segment.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from spade_pyserini.errors import JavaError
from spade_pyserini.lucene import jvm
from spade_pyserini.lucene.errors import (
    WRITE,
    report_java_disk_error,
    translate_java_errors,
)
from spade_pyserini.lucene.silence import captured_stderr
from spade_pyserini.progress import counting_bar

BUFFER_MEGABYTES = 256.0  # memory of all threads together before they write their segments
CHECK_WRITABLE = "check that the disk has space and that no other process writes there"
POLL_SECONDS = 0.05  # between two updates of the progress bar


def write_index(
    files: list[Path],
    index: Path,
    *,
    threads: int,
    total: int,
    optimize: bool = False,
    create: bool = True,
) -> None:
    """Index all vectors in ``files`` and wait until that is done.

    ``total`` is the expected number of documents, for the progress bar. With ``create=False`` the
    documents are added to an existing index, where they replace documents with the same ids.
    """
    names = jvm.java_class("java.util.ArrayList")()
    for file in files:
        names.add(jvm.java_path(file))
    segments = 1 if optimize else 0
    start = jvm.spade_class("ImpactIndexer").start
    with captured_stderr():
        with jvm.deferred_interrupt(), translate_java_errors(index, WRITE, CHECK_WRITABLE):
            folder = jvm.java_path(index)
            indexer = start(names, folder, create, threads, BUFFER_MEGABYTES, segments)
        try:
            _wait(indexer, total)
        except BaseException:
            indexer.stop()
            raise
    if (failure := indexer.failure()) is not None:
        report_java_disk_error(index, failure)
        raise JavaError(f"Lucene did not index the vectors: {failure}")


def _wait(indexer: Any, total: int) -> None:
    """Update a progress bar until the indexer is done."""
    with counting_bar("indexing", "documents", total) as bar:
        done = False
        while not done:
            done = indexer.done()  # read before the count, so that the last count is final
            bar.update(indexer.documents() - bar.n)
            if not done:
                time.sleep(POLL_SECONDS)
