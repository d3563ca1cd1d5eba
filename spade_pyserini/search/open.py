"""Open the right searcher for an index."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini.errors import UsageError
from spade_pyserini.index.opening import locate, retry_changes
from spade_pyserini.index.queries import MakeQueries
from spade_pyserini.search.bm25 import Bm25Searcher
from spade_pyserini.search.impact import ImpactSearcher


def open_searcher(
    index: str | Path,
    tokenizer: str | Path | None = None,
    k1: float = 0.9,
    b: float = 0.4,
    *,
    check: bool = True,
    queries: MakeQueries | None = None,
) -> ImpactSearcher | Bm25Searcher:
    """Open a searcher for the kind of index that the manifest names.

    ``tokenizer`` applies to an impact index, ``k1`` and ``b`` to a BM25 index. ``check=False``
    leaves out the check of the files' checksums that is made the first time an index is opened.
    ``queries`` makes the encoder of the queries, for an impact index that needs a neural one.
    """
    folder = Path(index)

    def attempt() -> ImpactSearcher | Bm25Searcher:
        manifest = locate(folder, foreign=bool(tokenizer)).manifest
        if manifest.kind == Bm25Searcher.kind:
            if tokenizer:
                raise UsageError(f"{index} is a BM25 index, it takes no tokenizer")
            if queries:
                raise UsageError(f"{index} is a BM25 index, it takes no query_encoder=NAME")
            return Bm25Searcher(index, k1, b, check=check)
        return ImpactSearcher(index, tokenizer, check=check, queries=queries)

    return retry_changes(folder, attempt)
