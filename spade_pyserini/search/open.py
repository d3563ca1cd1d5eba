"""Open an impact index or a BM25 index with the searcher for its kind."""

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
    """Open an index with the searcher for its kind, which the manifest records.

    ``tokenizer`` applies only to an impact index; ``k1`` and ``b`` apply only to a BM25 index. The
    checksums of the files are checked when an index is first opened on this machine, and again
    after the index has changed; ``check=False`` skips this check. If the queries of an impact index
    need a neural model, ``queries`` is a function that makes the query encoder.
    """
    folder = Path(index)

    def attempt() -> ImpactSearcher | Bm25Searcher:
        manifest = locate(folder, foreign=bool(tokenizer)).manifest
        if manifest.kind == Bm25Searcher.kind:
            if tokenizer:
                raise UsageError(f"{index} is a BM25 index; leave out the tokenizer")
            if queries:
                cure = "leave out query_encoder=NAME and pre_encoded=True"
                raise UsageError(f"{index} is a BM25 index; {cure}")
            return Bm25Searcher(index, k1, b, check=check)
        return ImpactSearcher(index, tokenizer, check=check, queries=queries)

    return retry_changes(folder, attempt)
