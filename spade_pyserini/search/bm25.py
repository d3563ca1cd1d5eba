"""Search a BM25 index."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

from spade_pyserini.errors import UsageError
from spade_pyserini.index.opening import open_index
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
        self._k1, self._b = float(k1), float(b)
        self._reader: Any = None

    def query_terms(self, text: str) -> list[str]:
        """Return the distinct stems of a text in their order, without stop words."""
        return list(dict.fromkeys(self._analyze(text)))

    def matched_terms(self, query: str, docid: str) -> dict[str, float]:
        """Return the terms of the query that a document has, with their scores, largest first."""
        reader_class = jvm.java_class("io.anserini.index.IndexReaderUtils")
        weight = reader_class.getBM25AnalyzedTermWeightWithParameters
        with self._translate_errors():
            if self._reader is None:
                self._reader = open_index(
                    self.index,
                    lambda files: reader_class.getReader(jvm.java_path(files.folder)),
                    check=False,
                )
            weights = {
                term: count * float(weight(self._reader, docid, term, self._k1, self._b))
                for term, count in Counter(self._analyze(query)).items()
            }
        matched = {term: weight for term, weight in weights.items() if weight > 0}
        return dict(sorted(matched.items(), key=lambda item: -item[1]))

    def close(self) -> None:
        """Close the index."""
        super().close()
        if self._reader is not None:
            self._reader.close()

    def _analyze(self, text: str) -> list[str]:
        """The stems of a text, as Anserini's default analyzer makes them for index and queries."""
        stems = jvm.java_class("io.anserini.analysis.AnalyzerUtils").analyze(text)
        return [stems.get(number) for number in range(stems.size())]

    def _query(self, text: str) -> Any:
        return jvm.java_class("java.lang.String")(text)
