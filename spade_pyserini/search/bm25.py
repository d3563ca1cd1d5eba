"""Search a BM25 index."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spade_pyserini.errors import UsageError
from spade_pyserini.lucene import jvm
from spade_pyserini.records import Hit
from spade_pyserini.search.base import LuceneSearcher


class Bm25Searcher(LuceneSearcher):
    """Searches a BM25 index; the defaults of ``k1`` and ``b`` are Pyserini's."""

    kind = "bm25"

    def __init__(
        self, index: str | Path, k1: float = 0.9, b: float = 0.4, *, check: bool = True
    ) -> None:
        if not (0 <= k1 < math.inf and 0 <= b <= 1):
            raise UsageError(f"BM25 needs k1 of 0 or more and b from 0 to 1, not {k1} and {b}")
        java_searcher = jvm.java_class("io.anserini.search.SimpleSearcher")
        super().__init__(index, java_searcher, check=check)
        self._has_spade_jar = jvm.has_spade_jar()
        self._searcher.set_bm25(k1, b)
        self._k1, self._b = float(k1), float(b)

    def query_terms(self, text: str) -> list[str]:
        """Return the distinct stems of a text, in the order of the text, without stop words."""
        return list(dict.fromkeys(self._analyze(text)))

    def text_terms(self, text: str) -> list[str]:
        """Return the distinct stems of a text, as `query_terms` does."""
        return self.query_terms(text)

    def matched_terms(self, query: str, docid: str) -> dict[str, float]:
        """Return the terms of the query that a document has, with their scores, largest first."""
        counts = Counter(self._analyze(query))
        with self._translate_errors():
            weights = self._term_weights(list(counts), docid)
        matched = {term: counts[term] * weight for term, weight in weights.items() if weight > 0}
        return dict(sorted(matched.items(), key=lambda item: -item[1]))

    def unknown_terms(self, query: str) -> list[str]:
        """Return the terms of the query that no document has."""
        term_of = jvm.java_class("org.apache.lucene.index.Term")
        reader = self._searcher.reader
        with self._translate_errors():
            return [
                term
                for term in self.query_terms(query)
                if reader.docFreq(term_of("contents", term)) == 0
            ]

    def _term_weights(self, terms: list[str], docid: str) -> dict[str, float]:
        """Return the scores of terms in a document; absent terms score 0 or are left out."""
        reader = self._searcher.reader
        if self._has_spade_jar and terms:
            weights = jvm.spade_class("Bm25Hits").weights
            lines = weights(reader, " ".join(terms), docid, self._k1, self._b)
            return dict(_parse(lines))
        utils = jvm.java_class("io.anserini.index.IndexReaderUtils")
        weight = utils.getBM25AnalyzedTermWeightWithParameters
        return {term: float(weight(reader, docid, term, self._k1, self._b)) for term in terms}

    def _analyze(self, text: str) -> list[str]:
        """Return the stems of a text, computed with Anserini's default analyzer."""
        stems = jvm.java_class("io.anserini.analysis.AnalyzerUtils").analyze(text)
        return list(stems.toArray())

    def _batch_search(self, texts: list[str], k: int, threads: int) -> list[list[Hit]]:
        if len(texts) != 1 or not self._has_spade_jar:
            return super()._batch_search(texts, k, threads)
        # For a single query, our jar is faster: Anserini would start threads, and Python would
        # need a Java call for every field of a hit. Both take longer than the search itself.
        lines = jvm.spade_class("Bm25Hits").search(self._searcher, texts[0], k)
        return [[Hit(docid, score) for docid, score in _parse(lines)]]

    def _query(self, text: str) -> Any:
        return jvm.java_class("java.lang.String")(text)


def _parse(lines: str) -> Iterator[tuple[str, float]]:
    """Parse lines ``SCORE NAME``, where NAME is a docid or a term; yield (name, score)."""
    for line in lines.split("\n")[:-1]:
        score, _, name = line.partition(" ")
        yield name, float(score)
