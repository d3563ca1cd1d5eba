"""The terms of a query, and the text of a query without the terms that the user removed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spade_pyserini.search import ImpactSearcher
from spade_pyserini.serve.records import QueryTerm

ENGINES = ("spade", "bm25")
WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class SearchRequest:
    """The parameters of ``/search``. removed: WordPieces of the query that are not searched."""

    query: str
    k: int = 10
    removed: frozenset[str] = frozenset()
    engines: tuple[str, ...] = ENGINES
    brief: bool = False


def searched_terms(searcher: ImpactSearcher, request: SearchRequest) -> list[str]:
    """Return the distinct WordPieces of the query, without the removed WordPieces."""
    terms = searcher.query_terms(request.query)
    return [term for term in terms if term not in request.removed]


def describe_terms(searcher: ImpactSearcher, request: SearchRequest) -> list[QueryTerm]:
    """Return the distinct WordPieces of the query, and the words that have no WordPiece."""
    spans = searcher.wordpieces.spans(request.query)
    frequencies = searcher.document_frequencies([span.term for span in spans if span.term])
    terms: dict[str, QueryTerm] = {}
    for term, start, end in spans:
        text = request.query[start:end]
        documents = frequencies.get(term, 0) if term else 0
        described = QueryTerm(text, start, end, term, documents, term in request.removed)
        terms.setdefault(term or f" {text}", described)
    return list(terms.values())


def remaining_text(searcher: ImpactSearcher, request: SearchRequest) -> str:
    """Return the query for BM25, without words whose WordPieces were all removed."""
    if not request.removed:
        return request.query
    spans = searcher.wordpieces.spans(request.query)

    def keep(word: re.Match[str]) -> str:
        own = [span.term for span in spans if word.start() <= span.start < word.end()]
        removed = bool(own) and all(term in request.removed for term in own)
        return " " * len(word[0]) if removed else word[0]

    return WORD.sub(keep, request.query)
