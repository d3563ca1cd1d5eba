"""Searchers: Lucene by way of Java, without importing pyserini, torch or transformers."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from spade_pyserini.errors import ArtifactError, UsageError
from spade_pyserini.formats.files import is_valid_unicode
from spade_pyserini.formats.index_manifest import (
    IndexManifest,
    foreign_manifest,
    index_tokenizer,
    told,
)
from spade_pyserini.index.postings import Postings, read_impacts
from spade_pyserini.lucene import jvm
from spade_pyserini.records import Hit, Ranking, Topic

logger = logging.getLogger(__name__)
MOST_HITS = 1_000_000


class _Searcher:
    """What both kinds share. Hits are ordered by score, ties by docid."""

    kind: str

    def __init__(self, index: str | Path, manifest: IndexManifest, searcher: Any) -> None:
        self.index, self.manifest = Path(index), manifest
        if manifest.kind != self.kind:
            raise ArtifactError(f"{index} is a {manifest.kind} index, not {self.kind}")
        # A query may have any number of terms; Lucene's own limit is 1,024.
        jvm.java_class("org.apache.lucene.search.IndexSearcher").setMaxClauseCount(2**31 - 1)
        with told(self.index, "open"):
            self._searcher = searcher(str(self.index))
            documents = self._documents()
        if documents != manifest.documents:
            message = f"{index}: {documents} documents, its manifest says"
            raise ArtifactError(f"{message} {manifest.documents}; build it, or change it, again")

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """The ``k`` best documents for ``query``."""
        (ranking,) = self.batch_search([Topic("query", query)], k)
        return ranking.hits

    def batch_search(self, topics: list[Topic], k: int = 1000, threads: int = 1) -> list[Ranking]:
        """Search several topics in one call of Java's; rankings in the order of the topics."""
        if not 1 <= k <= MOST_HITS:
            raise UsageError(f"hits is from 1 to {MOST_HITS:,}, not {k:,}")
        for topic in topics:
            if not is_valid_unicode(topic.text):
                raise UsageError(f"the query {topic.text!r} is not valid Unicode")
        # A heap of k is allocated for every query, so ask for no more than there are.
        most = min(k, max(self.manifest.documents, 1))
        with jvm.deferred_interrupt(), self._told():
            found = self._batch_search([topic.text for topic in topics], most, threads)
        return [Ranking(topic.qid, hits) for topic, hits in zip(topics, found, strict=True)]

    def _told(self) -> AbstractContextManager[None]:
        return told(self.index, "search", "open it again, or check it with --verify")

    def _documents(self) -> int:
        return int(self._searcher.get_total_num_docs())

    def _batch_search(self, texts: list[str], k: int, threads: int) -> list[list[Hit]]:
        """By Anserini."""
        queries = jvm.java_class("java.util.ArrayList")()
        qids = jvm.java_class("java.util.ArrayList")()
        for number, text in enumerate(texts):
            queries.add(self._query(text))
            qids.add(str(number))
        found = self._searcher.batch_search(queries, qids, k, threads)
        return [list(self._hits(found.get(str(number)))) for number in range(len(texts))]

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

    With a ``tokenizer``, the index may be of another tool's making. In a JVM that pyserini started
    before us, our Java is missing: Anserini's own searcher serves then, more slowly, and `doc`,
    `matched_terms` and `unknown_terms` raise a `JavaError`.
    """

    kind = "impact"

    def __init__(self, index: str | Path, tokenizer: str | Path | None = None) -> None:
        folder = Path(index)
        self.wordpieces = index_tokenizer(folder, tokenizer)
        manifest = foreign_manifest(folder) if tokenizer else IndexManifest.load(folder)
        self._ours = jvm.has_ours()
        anserinis = "io.anserini.search.SimpleImpactSearcher"
        ours = jvm.our_class("ImpactHits") if self._ours else jvm.java_class(anserinis)
        super().__init__(folder, manifest, ours)
        self._postings: Postings | None = None

    def _documents(self) -> int:
        return int(self._searcher.documents()) if self._ours else super()._documents()

    def _batch_search(self, texts: list[str], k: int, threads: int) -> list[list[Hit]]:
        if not self._ours:
            return super()._batch_search(texts, k, threads)
        bags = [" ".join(self.wordpieces.query_terms(text)) for text in texts]
        asked = jvm.java_class("java.util.ArrayList")()
        for bag in filter(None, bags):
            asked.add(bag)
        answers = iter(self._searcher.search(asked, k, threads) if asked.size() else ())
        return [_read_hits(next(answers)) if bag else [] for bag in bags]

    def _query(self, text: str) -> Any:
        one = jvm.java_class("java.lang.Integer")(1)
        query = jvm.java_class("java.util.HashMap")()
        for term in self.wordpieces.query_terms(text):
            query.put(term, one)
        return query

    def _hits(self, scored: Any) -> Iterator[Hit]:
        for hit in scored:
            # Anserini lowers tied scores by a millionth a rank; the inner product is whole.
            yield Hit(hit.docid, round(hit.score))

    def doc(self, docid: str) -> dict[str, int] | None:
        """The impacts of a document, as the index has them; None where it has no such document.

        Looks at every term of the index: for a look at a few documents, not for all.
        """
        if self._impacts("", docid) is None:
            return None
        if self._postings is None:
            self._postings = Postings(self.index)
        return self._postings.vectors([docid])[0]

    def matched_terms(self, query: str, docid: str) -> dict[str, int]:
        """The query's terms that a document has, with their impacts, largest first."""
        terms = self.wordpieces.query_terms(query)
        impacts = self._impacts(" ".join(terms), docid)
        if impacts is None:
            raise UsageError(f"{self.index} has no document {docid!r}")
        found = {term: impacts[term] for term in terms if term in impacts}
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def unknown_terms(self, query: str) -> list[str]:
        """The query's terms that no document has: they are ignored."""
        jvm.our_class("ImpactHits")  # says what to do where our Java is missing
        terms = self.wordpieces.query_terms(query)
        with self._told():
            missing: str = self._searcher.missing(" ".join(terms))
        return missing.split()

    def _impacts(self, terms: str, docid: str) -> dict[str, int] | None:
        """What a document has of some terms; None where there is no such document."""
        jvm.our_class("ImpactHits")
        with self._told():
            lines = self._searcher.impacts(terms, docid)
        return None if lines is None else read_impacts(lines)

    def close(self) -> None:
        """Close the index."""
        super().close()
        if self._postings is not None:
            self._postings.close()


def _read_hits(lines: str) -> list[Hit]:
    parts = (line.partition(" ") for line in lines.split("\n")[:-1])
    return [Hit(docid, int(score)) for score, _, docid in parts]


class Bm25Searcher(_Searcher):
    """BM25 on an ordinary index, with Pyserini's defaults."""

    kind = "bm25"

    def __init__(self, index: str | Path, k1: float = 0.9, b: float = 0.4) -> None:
        if not (0 <= k1 < math.inf and 0 <= b <= 1):
            raise UsageError(f"BM25 takes k1 of 0 or more and b from 0 to 1, not {k1} and {b}")
        manifest = IndexManifest.load(Path(index))
        super().__init__(index, manifest, jvm.java_class("io.anserini.search.SimpleSearcher"))
        self._searcher.set_bm25(k1, b)

    def _query(self, text: str) -> Any:
        return jvm.java_class("java.lang.String")(text)


def open_searcher(
    index: str | Path, tokenizer: str | Path | None = None, k1: float = 0.9, b: float = 0.4
) -> ImpactSearcher | Bm25Searcher:
    """The searcher for the kind of index that is there, by its manifest."""
    folder = Path(index)
    manifest = foreign_manifest(folder) if tokenizer else IndexManifest.load(folder)
    if manifest.kind == Bm25Searcher.kind:
        if tokenizer:
            raise UsageError(f"{index} is a BM25 index, it takes no tokenizer")
        return Bm25Searcher(index, k1, b)
    return ImpactSearcher(index, tokenizer)
