"""Search a BM25 index."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from spade_pyserini.errors import UsageError
from spade_pyserini.lucene import jvm
from spade_pyserini.search.base import LuceneSearcher


class Bm25Searcher(LuceneSearcher):
    """Searches an ordinary index with BM25; the defaults of ``k1`` and ``b`` are Pyserini's."""

    kind = "bm25"

    def __init__(
        self, index: str | Path, k1: float = 0.9, b: float = 0.4, *, check: bool = True
    ) -> None:
        if not (0 <= k1 < math.inf and 0 <= b <= 1):
            raise UsageError(f"BM25 needs k1 of 0 or more and b from 0 to 1, not {k1} and {b}")
        java_searcher = jvm.java_class("io.anserini.search.SimpleSearcher")
        super().__init__(index, java_searcher, check=check)
        self._searcher.set_bm25(k1, b)

    def _query(self, text: str) -> Any:
        return jvm.java_class("java.lang.String")(text)
