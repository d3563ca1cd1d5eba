"""Search an impact index: a score is the inner product of a query and a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from spade_pyserini.errors import UsageError
from spade_pyserini.index.opening import IndexFiles
from spade_pyserini.index.postings import parse_impacts
from spade_pyserini.index.queries import MakeQueries, index_queries
from spade_pyserini.index.tokenizer import load_tokenizer
from spade_pyserini.lucene import jvm
from spade_pyserini.records import Hit
from spade_pyserini.search.base import LuceneSearcher, OpenedIndex, check_hits


class ImpactSearcher(LuceneSearcher):
    """Searches an impact index; a score is the exact inner product with the query.

        with ImpactSearcher("index/pydoc.spade") as searcher:
            searcher.search("delete a folder and everything in it")

    The manifest of the index says how queries are encoded: boolean, with a table of weights, or by
    a neural model. A neural model must be given as ``queries``; it is an error to give a model
    that is not the one in the manifest.

    ``tokenizer`` is a file, or the folder or name of a model. It is required for an index without a
    tokenizer file, such as an index that another tool built. The checksums of the files are checked
    when an index is first opened on this machine, and again after the index has changed;
    ``check=False`` skips this check.

    If pyserini has already started the JVM of this process, the JVM cannot load this package's jar.
    Searches then use Anserini's searcher, which is slower. The methods `doc`, `search_terms`,
    `document_frequencies`, `matched_terms` and `unknown_terms` then raise `JavaError`.
    """

    kind = "impact"

    def __init__(
        self,
        index: str | Path,
        tokenizer: str | Path | None = None,
        *,
        check: bool = True,
        queries: MakeQueries | None = None,
    ) -> None:
        self._tokenizer, self._make_queries = tokenizer, queries
        self._has_spade_jar = jvm.has_spade_jar()
        if self._has_spade_jar:
            java_searcher = jvm.spade_class("ImpactHits")
        else:
            java_searcher = jvm.java_class("io.anserini.search.SimpleImpactSearcher")
        super().__init__(index, java_searcher, check=check, foreign=bool(tokenizer))

    def _open(self, files: IndexFiles) -> OpenedIndex:
        manifest = files.manifest
        self.wordpieces = load_tokenizer(self.index, manifest, self._tokenizer)
        self.queries = index_queries(self.index, manifest, self.wordpieces, self._make_queries)
        return super()._open(files)

    def doc(self, docid: str) -> dict[str, int] | None:
        """Return the impacts of a document, or None if the index does not have it.

        Each call reads all terms of the index segment that contains the document, so it is slow to
        call this for many documents.
        """
        jvm.spade_class("ImpactHits")  # raises JavaError without our jar
        with self._translate_errors():
            lines = self._searcher.vector(docid)
        return None if lines is None else parse_impacts(lines)

    def search_terms(self, terms: Sequence[str], k: int = 10) -> list[Hit]:
        """Return the ``k`` best documents for some terms, such as a part of a query.

        The score of a document is the sum of the impacts that these terms have in the document.
        """
        jvm.spade_class("ImpactHits")  # raises JavaError without our jar
        if not terms:
            return []
        k = min(check_hits(k), max(self.manifest.documents, 1))
        with jvm.deferred_interrupt(), self._translate_errors():
            return _parse_hits(self._searcher.search(" ".join(terms), k))

    def document_frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """Return, for each term, the number of documents that have it, which may be 0.

        Deleted documents are counted until Lucene merges their segment.
        """
        jvm.spade_class("ImpactHits")  # raises JavaError without our jar
        if not terms:
            return {}
        with self._translate_errors():
            return parse_impacts(self._searcher.frequencies(" ".join(terms)))

    def query_terms(self, text: str) -> list[str]:
        """Return the distinct terms of a query, in the order of `query_weights`."""
        return list(self.query_weights(text))

    def query_weights(self, text: str) -> dict[str, int]:
        """Return the weight of each term of a query. In a boolean query, all weights are 1."""
        (weights,) = self.queries.encode([text])
        return weights

    def text_terms(self, text: str) -> list[str]:
        """Return the distinct terms of a text, without terms that a query encoder would add."""
        return self.queries.terms_of(text)

    def matched_terms(self, query: str, docid: str) -> dict[str, int]:
        """Return the query terms that a document has, and how much each term adds to the score.

        A term adds its weight in the query times its impact in the document. In a boolean query,
        all weights are 1. The term that adds most is first.
        """
        weights = self.query_weights(query)
        impacts = self._impacts(" ".join(weights), docid)
        if impacts is None:
            raise UsageError(f"{self.index} has no document {docid!r}")
        matched = {term: weights[term] * impacts[term] for term in weights if term in impacts}
        return dict(sorted(matched.items(), key=lambda item: -item[1]))

    def unknown_terms(self, query: str) -> list[str]:
        """Return the terms of the query that no document has; search ignores them."""
        jvm.spade_class("ImpactHits")  # raises JavaError without our jar
        terms = self.query_terms(query)
        with self._translate_errors():
            missing: str = self._searcher.missing(" ".join(terms))
        return missing.split()

    def _impacts(self, terms: str, docid: str) -> dict[str, int] | None:
        """Return the impacts of some terms in a document; None if the index lacks the document."""
        jvm.spade_class("ImpactHits")  # raises JavaError without our jar
        with self._translate_errors():
            lines = self._searcher.impacts(terms, docid)
        return None if lines is None else parse_impacts(lines)

    # With our jar, a query is a string of terms, and the answer is a string of lines.

    def _count_documents(self) -> int:
        if not self._has_spade_jar:
            return super()._count_documents()
        return int(self._searcher.documents())

    def _batch_search(self, texts: list[str], k: int, threads: int) -> list[list[Hit]]:
        if not self._has_spade_jar:
            return super()._batch_search(texts, k, threads)
        queries = [_java_query(weights) for weights in self.queries.encode(texts)]
        java_queries = jvm.java_class("java.util.ArrayList")()
        for query in filter(None, queries):  # a query without terms has no hits
            java_queries.add(query)
        answers = iter(
            self._searcher.search(java_queries, k, threads) if java_queries.size() else ()
        )
        return [_parse_hits(next(answers)) if query else [] for query in queries]

    # Without our jar, a query for Anserini's searcher is a map from terms to weights.

    def _query(self, text: str) -> Any:
        integer = jvm.java_class("java.lang.Integer")
        query = jvm.java_class("java.util.HashMap")()
        for term, weight in self.query_weights(text).items():
            query.put(term, integer(weight))
        return query

    def _hits(self, scored: Any) -> Iterator[Hit]:
        for hit in scored:
            # Anserini lowers tied scores by a millionth per rank; rounding restores them.
            yield Hit(hit.docid, round(hit.score))


def _java_query(weights: dict[str, int]) -> str:
    """Return the terms, separated by spaces; a weight other than 1 follows its term after a tab."""
    return " ".join(
        term if weight == 1 else f"{term}\t{weight}" for term, weight in weights.items()
    )


def _parse_hits(lines: str) -> list[Hit]:
    """Parse lines that consist of a score, a space and a docid."""
    parts = (line.partition(" ") for line in lines.split("\n")[:-1])
    return [Hit(docid, int(score)) for score, _, docid in parts]
