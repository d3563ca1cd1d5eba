"""Export to Seismic, an engine for approximate search in memory, through pyseismic-lsr.

pyseismic-lsr is an optional dependency: ``pip install 'spade_pyserini[seismic]'``.
"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from spade_pyserini.errors import NotFoundError, SpadeError
from spade_pyserini.export.folder import ExportSource, FolderEngine, folder_queries, write_folder
from spade_pyserini.export.silence import silence
from spade_pyserini.models.queries import QueryEncoder
from spade_pyserini.records import Hit, ImpactVector

NAME = "seismic"
FILE = f"{NAME}.index.seismic"  # Seismic adds the suffix .index.seismic
BATCH = 1000  # documents per call
MOST_TERMS = 1 << 16  # largest vocabulary of Seismic's classes with 16-bit term ids


def write_seismic(
    index: str | Path,
    output: str | Path,
    tokenizer: str | Path | None = None,
    *,
    overwrite: bool = False,
) -> int:
    """Convert an impact index to an index of Seismic; return the number of documents.

    A component of a vector is the id of a WordPiece. The settings of the index are Seismic's
    defaults. All vectors are held in memory while the index is built.
    """
    seismic()  # fails early if pyseismic-lsr is not installed
    engine = FolderEngine("Seismic", re.compile(re.escape(FILE)), _write, numbers=True)
    return write_folder(engine, index, output, tokenizer, overwrite=overwrite)


def _write(source: ExportSource, folder: Path) -> None:
    dimension = source.wordpieces.vocabulary_size
    dataset_class, index_class = _classes(dimension)
    dataset, vectors, documents = dataset_class(dim=dimension), source.vectors(), 0
    while batch := list(islice(vectors, BATCH)):
        _add(dataset, batch, source.wordpieces.term_ids)
        documents += len(batch)
    if dataset.len != documents:
        message = f"Seismic has {dataset.len} of {documents} documents"
        raise SpadeError(f"{message}; run the export again")
    with silence():
        index_class.build_from_dataset(dataset).save(str(folder / NAME))


def _add(dataset: Any, batch: list[ImpactVector], ids: dict[str, int]) -> None:
    """Add documents as the rows of a sparse matrix, with the term ids of a row in ascending order.

    ids: the id of each term.
    """
    rows = [sorted((ids[term], impact) for term, impact in v.impacts.items()) for v in batch]
    pairs = np.array([pair for row in rows for pair in row], dtype=np.int64).reshape(-1, 2)
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    terms, impacts = np.ascontiguousarray(pairs[:, 0]), pairs[:, 1].astype(np.float32)
    dataset.add_documents_by_id([vector.docid for vector in batch], terms, impacts, offsets)


def _classes(terms: int) -> tuple[Any, Any]:
    """Return Seismic's dataset class and index class for a vocabulary of ``terms`` terms."""
    module = seismic()
    if terms <= MOST_TERMS:
        return module.SeismicDataset, module.SeismicIndex
    return module.SeismicDatasetLV, module.SeismicIndexLV


class SeismicSearcher:
    """Searches a Seismic export with the terms of a query.

    The scores of the hits are inner products, but hits may be missing. With a smaller
    ``heap_factor``, fewer hits are missing, and a search takes longer. ``queries`` encodes the
    queries if the index needs a neural model for them.
    """

    def __init__(
        self,
        folder: str | Path,
        queries: QueryEncoder | None = None,
        *,
        heap_factor: float = 0.7,
    ) -> None:
        self.queries, self.heap_factor = folder_queries(folder, queries), heap_factor
        _, index_class = _classes(self.queries.wordpieces.vocabulary_size)
        with silence():
            self._index = index_class.load(str(Path(folder, FILE)))

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """Return up to ``k`` documents with the highest scores for ``query``, approximately."""
        (weights,) = self.queries.encode([query])
        if not weights:
            return []
        ids = self.queries.wordpieces.term_ids
        names = np.array([str(ids[term]) for term in weights], seismic().get_seismic_string())
        values = np.array(list(weights.values()), dtype=np.float32)
        hits = self._index.search(
            *("query", names, values),
            k=k,
            query_cut=len(weights),
            heap_factor=self.heap_factor,
        )
        return [Hit(docid, round(score)) for _, score, docid in hits]


def seismic() -> Any:
    """Import seismic; raise `NotFoundError` if it is not installed."""
    try:
        import seismic as module
    except ModuleNotFoundError:
        message = "Seismic needs pyseismic-lsr: pip install 'spade_pyserini[seismic]'"
        raise NotFoundError(message) from None
    return module
