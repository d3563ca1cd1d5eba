"""Open the right searcher for an index."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini.errors import UsageError
from spade_pyserini.formats.index_manifest import IndexManifest
from spade_pyserini.index.describe import describe_index
from spade_pyserini.search.bm25 import Bm25Searcher
from spade_pyserini.search.impact import ImpactSearcher


def open_searcher(
    index: str | Path, tokenizer: str | Path | None = None, k1: float = 0.9, b: float = 0.4
) -> ImpactSearcher | Bm25Searcher:
    """Open a searcher for the kind of index that the manifest names.

    ``tokenizer`` applies to an impact index, ``k1`` and ``b`` to a BM25 index.
    """
    folder = Path(index)
    manifest = describe_index(folder) if tokenizer else IndexManifest.load(folder)
    if manifest.kind == Bm25Searcher.kind:
        if tokenizer:
            raise UsageError(f"{index} is a BM25 index, it takes no tokenizer")
        return Bm25Searcher(index, k1, b)
    return ImpactSearcher(index, tokenizer)
