"""Searchers over Anserini's own, reached without importing pyserini, torch or transformers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from spade_pyserini import java
from spade_pyserini.errors import ArtifactError, UsageError
from spade_pyserini.files import is_unicode
from spade_pyserini.index.manifest import FIELD, IndexManifest, cannot_open, index_tokenizer
from spade_pyserini.records import Hit, Ranking, Topic

MOST_HITS = 1_000_000


class _Searcher:
    """What both kinds share. Hits are ordered by score, ties by docid."""

    kind: str
    java_name: str

    def __init__(self, index: str | Path) -> None:
        self.index = Path(index)
        self.manifest = IndexManifest.load(self.index)
        if self.manifest.kind != self.kind:
            raise ArtifactError(f"{index} is a {self.manifest.kind} index, not {self.kind}")
        searcher = java.java_class(self.java_name)
        # A query may have any number of terms; Lucene's own limit is 1,024.
        java.java_class("org.apache.lucene.search.IndexSearcher").setMaxClauseCount(2**31 - 1)
        try:
            self._searcher = searcher(str(self.index))
            documents = self._searcher.get_total_num_docs()
        except Exception as error:  # jnius.JavaException, which is only there once the JVM is
            raise ArtifactError(cannot_open(self.index, error)) from None
        if documents != self.manifest.documents:
            message = f"{index}: {documents} documents, its manifest says"
            raise ArtifactError(f"{message} {self.manifest.documents}; build the index again")

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """The ``k`` best documents for ``query``."""
        (ranking,) = self.batch_search([Topic("query", query)], k)
        return ranking.hits

    def batch_search(self, topics: list[Topic], k: int = 1000, threads: int = 1) -> list[Ranking]:
        """Search several topics in one call of Java's; rankings in the order of the topics."""
        if not 1 <= k <= MOST_HITS:
            raise UsageError(f"hits is from 1 to {MOST_HITS:,}, not {k:,}")
        for topic in topics:
            if not is_unicode(topic.text):
                raise UsageError(f"the query {topic.text!r} is not valid Unicode")
        with java.deferred_interrupt():
            return self._batch_search(topics, k, threads)

    def _batch_search(self, topics: list[Topic], k: int, threads: int) -> list[Ranking]:
        queries = java.java_class("java.util.ArrayList")()
        qids = java.java_class("java.util.ArrayList")()
        for topic in topics:
            queries.add(self._query(topic.text))
            qids.add(topic.qid)
        # A heap of k is allocated for every query, so ask for no more than there are.
        found = self._searcher.batch_search(
            queries, qids, min(k, max(self.manifest.documents, 1)), threads
        )
        return [Ranking(topic.qid, list(self._hits(found.get(topic.qid)))) for topic in topics]

    def _query(self, text: str) -> Any:
        raise NotImplementedError

    def _hits(self, scored: Any) -> Iterator[Hit]:
        for hit in scored:
            yield Hit(hit.docid, hit.score)

    def close(self) -> None:
        """Close the index."""
        self._searcher.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class ImpactSearcher(_Searcher):
    """Boolean WordPieces on an impact index: the score is the exact inner product.

    with ImpactSearcher("index/pydoc.spade") as searcher:
        searcher.search("delete a folder and everything in it")
    """

    kind = "impact"
    java_name = "io.anserini.search.SimpleImpactSearcher"

    def __init__(self, index: str | Path, tokenizer: str | Path | None = None) -> None:
        self.wordpieces = index_tokenizer(Path(index), Path(tokenizer) if tokenizer else None)
        super().__init__(index)

    def _query(self, text: str) -> Any:
        one = java.java_class("java.lang.Integer")(1)
        query = java.java_class("java.util.HashMap")()
        for term in self.wordpieces.query_terms(text):
            query.put(term, one)
        return query

    def _hits(self, scored: Any) -> Iterator[Hit]:
        for hit in scored:
            # Anserini lowers tied scores by a millionth a rank; the inner product is whole.
            yield Hit(hit.docid, round(hit.score))

    def matched_terms(self, query: str, docid: str) -> dict[str, int]:
        """The query's terms that a document has, with their impacts, largest first."""
        from jnius import cast

        reader = self._searcher.reader
        utils = java.java_class("io.anserini.index.IndexReaderUtils")
        lucene_id = utils.convertDocidToLuceneDocid(reader, docid)
        if lucene_id < 0:
            raise UsageError(f"{self.index} has no document {docid!r}")
        terms = java.java_class("org.apache.lucene.index.MultiTerms")
        bytes_ref = java.java_class("org.apache.lucene.util.BytesRef")
        text = java.java_class("java.lang.String")
        found = {}
        for term in self.wordpieces.query_terms(query):
            key = bytes_ref(cast("java.lang.CharSequence", text(term)))
            postings = terms.getTermPostingsEnum(reader, FIELD, key)
            if postings is not None and postings.advance(lucene_id) == lucene_id:
                found[term] = postings.freq()
        return dict(sorted(found.items(), key=lambda item: -item[1]))


class Bm25Searcher(_Searcher):
    """BM25 on an ordinary index, with Pyserini's defaults."""

    kind = "bm25"
    java_name = "io.anserini.search.SimpleSearcher"

    def __init__(self, index: str | Path, k1: float = 0.9, b: float = 0.4) -> None:
        if not (0 <= k1 < math.inf and 0 <= b <= 1):
            raise UsageError(f"BM25 takes k1 of 0 or more and b from 0 to 1, not {k1} and {b}")
        super().__init__(index)
        self._searcher.set_bm25(k1, b)

    def _query(self, text: str) -> Any:
        return java.java_class("java.lang.String")(text)


def open_searcher(
    index: str | Path, tokenizer: str | Path | None = None, k1: float = 0.9, b: float = 0.4
) -> ImpactSearcher | Bm25Searcher:
    """The searcher for the kind of index that is there, by its manifest."""
    if IndexManifest.load(Path(index)).kind == Bm25Searcher.kind:
        if tokenizer:
            raise UsageError(f"{index} is a BM25 index, it takes no tokenizer")
        return Bm25Searcher(index, k1, b)
    return ImpactSearcher(index, tokenizer)
