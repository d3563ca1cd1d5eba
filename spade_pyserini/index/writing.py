"""Write vectors to an index with the direct builder or the Anserini builder."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from spade_pyserini.formats.paths import sibling
from spade_pyserini.formats.temporary import temporary_folder
from spade_pyserini.index.anserini import AnseriniInput, run_index_collection
from spade_pyserini.index.direct import NotReadableError, ReadCounts, WriteOptions, write_index
from spade_pyserini.index.foreign import count_foreign
from spade_pyserini.index.options import DIRECT, IndexOptions
from spade_pyserini.index.pruning import StaticPruning
from spade_pyserini.index.reorder import write_reordered, write_shards
from spade_pyserini.index.source import VectorSource
from spade_pyserini.index.staging import log_path
from spade_pyserini.records import ImpactVector

logger = logging.getLogger(__name__)


def write_vectors(
    source: VectorSource, index: Path, output: Path, options: IndexOptions
) -> ReadCounts:
    """Write the vectors to the folder ``index``; return counts before and after static pruning.

    Temporary files and Anserini's log are next to ``output``.
    """
    if options.builder != DIRECT:
        return _write_anserini(source, index, output, options)
    if options.reorder:
        with temporary_folder(sibling(output, "reordered")) as folder:
            files = write_reordered(list(source.vectors()), folder / "vectors")
            return _write_direct(source, files, index, options, threads=1)
    try:
        return _write_direct(source, source.files, index, options, options.threads)
    except NotReadableError as reason:
        logger.info("%s: Java cannot read the vectors (%s); rewriting them", output, reason)
    assert source.checks is not None
    checked = count_foreign(source, source.checks)
    with temporary_folder(sibling(output, "rewritten")) as folder:
        files = write_shards(checked.vectors(), folder / "vectors")
        return _write_direct(checked, files, index, options, options.threads)


def _write_direct(
    source: VectorSource, files: list[Path], index: Path, options: IndexOptions, threads: int
) -> ReadCounts:
    writing = WriteOptions(optimize=options.optimize, pruning=options.pruning, checks=source.checks)
    total = source.documents or None
    return write_index(files, index, threads=threads, total=total, options=writing)


def _write_anserini(
    source: VectorSource, index: Path, output: Path, options: IndexOptions
) -> ReadCounts:
    """Run Anserini. It reads a folder, so pruned vectors are written to a temporary folder."""
    flags = ("--impact", "--pretokenized", *(["--optimize"] if options.optimize else []))
    documents = AnseriniInput(
        "JsonVectorCollection", source.folder, source.indexed_documents, flags
    )
    read = (source.documents, source.empty_documents, source.postings, source.impacts)
    with temporary_folder(sibling(output, "pruned")) as folder:
        counts = ReadCounts(*read, source.postings, source.impacts)
        if options.pruning.active:
            kept = _Pruned(source.vectors(), options.pruning)
            write_shards(kept, folder / "vectors")
            documents = documents._replace(folder=folder / "vectors")
            counts = ReadCounts(*read, kept.postings, kept.impacts)
        run_index_collection(documents, index, threads=options.threads, log=log_path(output))
    return counts


class _Pruned:
    """Pruned vectors, counted while they are iterated."""

    def __init__(self, vectors: Iterator[ImpactVector], pruning: StaticPruning) -> None:
        self.vectors, self.pruning = vectors, pruning
        self.postings = self.impacts = 0

    def __iter__(self) -> Iterator[ImpactVector]:
        for vector in map(self.pruning.apply, self.vectors):
            self.postings += len(vector.impacts)
            self.impacts += sum(vector.impacts.values())
            yield vector


def log_pruned(output: Path, counts: ReadCounts) -> None:
    """Report what static pruning has removed."""
    postings = counts.postings - counts.kept_postings
    impacts = counts.impacts - counts.kept_impacts
    logger.info(
        "%s: static pruning left out %d of %d postings (%.1f %%) and %.1f %% of the sum of impacts",
        output,
        postings,
        counts.postings,
        100 * postings / max(1, counts.postings),
        100 * impacts / max(1, counts.impacts),
    )
