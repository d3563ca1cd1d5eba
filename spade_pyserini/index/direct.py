"""An impact index written by Lucene itself, impacts as term frequencies.

Anserini repeats a term as often as its impact says, so its cost follows the sum of impacts; here
it follows the number of terms. The work is done by ``spade.ImpactIndexer`` in threads of this
process's JVM: each inverts the vectors it reads in memory and hands them to Lucene as a segment.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tqdm import tqdm

from spade_pyserini.errors import JavaError
from spade_pyserini.formats.index_manifest import told
from spade_pyserini.lucene import jvm

BUFFER_MEGABYTES = 256.0  # that all threads together fill before they write segments
WRITABLE = "see that there is space, and that nobody else writes there"
LOOK = 0.05  # seconds between two looks at how far it is


def write_index(
    files: list[Path],
    index: Path,
    *,
    threads: int,
    total: int,
    optimize: bool = False,
    create: bool = True,
) -> None:
    """Index all vectors in ``files``; without ``create`` they are added to the index.

    Documents that are added replace those of the same id.
    """
    ours = jvm.our_class("ImpactIndexer")
    names = jvm.java_class("java.util.ArrayList")()
    for file in files:
        names.add(str(file))
    segments = 1 if optimize else 0
    with jvm.deferred_interrupt(), told(index, "write", WRITABLE):
        indexer = ours.start(names, str(index), create, threads, BUFFER_MEGABYTES, segments)
    try:
        _watch(indexer, total)
    except BaseException:
        indexer.stop()
        raise
    if (failure := indexer.failure()) is not None:
        raise JavaError(f"Lucene did not index the vectors: {failure}")


def _watch(indexer: Any, total: int) -> None:
    with tqdm(desc="indexing", unit=" documents", total=total, disable=None) as bar:
        done = False
        while not done:
            done = indexer.done()  # before the count: it is final then
            bar.update(indexer.documents() - bar.n)
            if not done:
                time.sleep(LOOK)
