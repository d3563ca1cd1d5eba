"""Export to Qdrant Edge, which runs in the calling process, through qdrant-edge-py.

qdrant-edge-py is an optional dependency: ``pip install 'spade_pyserini[qdrant]'``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from spade_pyserini.errors import NotFoundError, SpadeError
from spade_pyserini.export.folder import ExportSource, FolderEngine, folder_queries, write_folder
from spade_pyserini.models.queries import QueryEncoder
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.records import Hit

SHARD = "shard"
FIELD = "impacts"  # the name of the sparse vectors
BATCH = 500  # documents per insertion


def write_qdrant(
    index: str | Path,
    output: str | Path,
    tokenizer: str | Path | None = None,
    *,
    overwrite: bool = False,
) -> int:
    """Convert an impact index to a shard of Qdrant; return the number of documents.

    A dimension is the id of a WordPiece. Each document becomes a point. Points are numbered from 0,
    and the payload ``id`` of a point is the id of the document.
    """
    qdrant_edge()  # fails early if qdrant-edge-py is not installed
    engine = FolderEngine("Qdrant", re.compile(re.escape(SHARD)), _write, numbers=True)
    return write_folder(engine, index, output, tokenizer, overwrite=overwrite)


def _write(source: ExportSource, folder: Path) -> None:
    edge = qdrant_edge()
    # The write-ahead log would take 32 MB and more; an interrupted export starts again anyway.
    config = edge.EdgeConfig(
        sparse_vectors={FIELD: edge.EdgeSparseVectorParams()}, wal_enabled=False
    )
    (folder / SHARD).mkdir()
    shard = edge.EdgeShard.create(str(folder / SHARD), config)
    try:
        vectors, number = source.vectors(), 0
        while batch := list(islice(vectors, BATCH)):
            points = [
                edge.Point(
                    number + position,
                    {FIELD: _sparse(vector.impacts, source.wordpieces)},
                    {"id": vector.docid},
                )
                for position, vector in enumerate(batch)
            ]
            shard.update(edge.UpdateOperation.upsert_points(points))
            number += len(batch)
        shard.optimize()
        shard.flush()
        count = shard.count(edge.CountRequest(exact=True))
    finally:
        shard.close()
    if count != number:
        raise SpadeError(f"Qdrant has {count} of {number} documents; run the export again")


def _sparse(weights: Mapping[str, int], wordpieces: WordPieces) -> Any:
    ids = wordpieces.term_ids
    return qdrant_edge().SparseVector(
        [ids[term] for term in weights], list(map(float, weights.values()))
    )


class QdrantSearcher:
    """Searches a Qdrant export with the terms of a query; scores are exact inner products.

    ``queries`` encodes the queries if the index needs a neural model for them. Close the searcher
    after use.
    """

    def __init__(self, folder: str | Path, queries: QueryEncoder | None = None) -> None:
        self.queries = folder_queries(folder, queries)
        self._shard = qdrant_edge().EdgeShard.load(str(Path(folder, SHARD)))

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """Return the ``k`` best documents for ``query``; Qdrant decides the order of ties."""
        (weights,) = self.queries.encode([query])
        if not weights:
            return []
        edge = qdrant_edge()
        nearest = edge.Query.Nearest(_sparse(weights, self.queries.wordpieces), using=FIELD)
        request = edge.QueryRequest(limit=k, query=nearest, with_payload=True)
        return [
            Hit(point.payload["id"], round(point.score)) for point in self._shard.query(request)
        ]

    def close(self) -> None:
        """Close the shard."""
        self._shard.close()


def qdrant_edge() -> Any:
    """Import qdrant_edge; raise `NotFoundError` if it is not installed."""
    try:
        import qdrant_edge as module
    except ModuleNotFoundError:
        message = "Qdrant needs qdrant-edge-py: pip install 'spade_pyserini[qdrant]'"
        raise NotFoundError(message) from None
    return module
