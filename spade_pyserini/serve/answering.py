"""Answer a query with SpaDE and BM25.

A hit has its text, its rank in the other engine, and its relevance judgement.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from spade_pyserini.records import FindDocuments, Hit
from spade_pyserini.search import Bm25Searcher, ImpactSearcher
from spade_pyserini.search.answers import (
    Answer,
    Searcher,
    describe_hits,
    matched_terms,
)
from spade_pyserini.search.snippets import Snippet
from spade_pyserini.serve.judgements import JudgedTopic, Judgements
from spade_pyserini.serve.query import (
    SearchRequest,
    describe_terms,
    remaining_text,
    searched_terms,
)
from spade_pyserini.serve.records import (
    EngineAnswer,
    HitAnswer,
    Hits,
    Judged,
    MarkedText,
    MatchedTerm,
    SearchAnswer,
)

COMPARED = 100  # hits of the other engine among which the rank of a document is looked up


class _Ranking:
    """The hits of one engine, and the time of the search."""

    def __init__(
        self, searcher: Searcher, query: str, k: int, request: SearchRequest | None = None
    ) -> None:
        """Search for ``query``.

        In an impact index, terms that ``request`` removes are not searched.
        """
        self.searcher, self.query = searcher, query
        start = time.perf_counter()  # the time includes the analysis of the query
        if isinstance(searcher, ImpactSearcher) and request is not None:
            terms = searched_terms(searcher, request)
            self.hits: Sequence[Hit] = searcher.search_terms(terms, k)
            self.milliseconds = round(1000 * (time.perf_counter() - start), 2)
        else:
            self.hits = searcher.search(query, k)
            self.milliseconds = round(1000 * (time.perf_counter() - start), 2)
            terms = searcher.query_terms(query)
        self.terms = terms

    def weights(self, docid: str) -> Mapping[str, float]:
        """Return the searched terms that a document has, with their weights."""
        matched = matched_terms(self.searcher, self.query, docid)
        return {term: weight for term, weight in matched.items() if term in self.terms}


class Engines:
    """The searchers, texts and judgements that are used to answer a request."""

    def __init__(
        self,
        spade: ImpactSearcher,
        bm25: Bm25Searcher | None,
        find: FindDocuments,
        judgements: Judgements,
    ) -> None:
        self._spade, self._bm25, self._find = spade, bm25, find
        self._judgements = judgements

    def answer(self, request: SearchRequest) -> SearchAnswer:
        """Search with the engines that the request names, and describe the hits."""
        compared = max(request.k, COMPARED) if self._compares(request) else request.k
        rankings = self._search(request, compared)
        ranks = {name: _ranks(ranking.hits) for name, ranking in rankings.items()}
        topic = self._judgements.find(request.query)
        results = {}
        for name, ranking in rankings.items():
            others = (ranks[other] for other in ranks if other != name)
            describe = partial(_hit, other=next(others, {}), grades=topic.grades if topic else {})
            results[name] = self._engine(ranking, request.k, describe)
        terms = describe_terms(self._spade, request)
        return SearchAnswer(request.query, terms, compared, _judged(topic), results)

    def hits(self, request: SearchRequest) -> Hits:
        """Search with the engines that the request names, and return only ids and scores."""
        rankings = self._search(request, request.k)
        results = {
            name: [(hit.docid, hit.score) for hit in ranking.hits]
            for name, ranking in rankings.items()
        }
        return Hits(request.query, results)

    def _compares(self, request: SearchRequest) -> bool:
        return self._bm25 is not None and len(request.engines) > 1

    def _search(self, request: SearchRequest, k: int) -> dict[str, _Ranking]:
        rankings = {}
        if "spade" in request.engines:
            rankings["spade"] = _Ranking(self._spade, request.query, k, request)
        if "bm25" in request.engines and self._bm25 is not None:
            text = remaining_text(self._spade, request)
            rankings["bm25"] = _Ranking(self._bm25, text, k)
        return rankings

    def _engine(
        self, ranking: _Ranking, k: int, describe: Callable[[Answer], HitAnswer]
    ) -> EngineAnswer:
        described = describe_hits(ranking.searcher, ranking.hits[:k], ranking.weights, self._find)
        return EngineAnswer(
            ranking.searcher.index.name,
            ranking.terms,
            ranking.milliseconds,
            [describe(answer) for answer in described],
        )


def _ranks(hits: Sequence[Hit]) -> dict[str, int]:
    return {hit.docid: rank for rank, hit in enumerate(hits, start=1)}


def _hit(answer: Answer, other: Mapping[str, int], grades: Mapping[str, int]) -> HitAnswer:
    return HitAnswer(
        answer.rank,
        answer.docid,
        round(answer.score, 4),
        other.get(answer.docid),
        grades.get(answer.docid),
        _marked(answer.title),
        _marked(answer.snippet),
        [
            MatchedTerm(term.term, round(term.weight, 4), term.share, term.in_text)
            for term in answer.matched
        ],
    )


def _marked(snippet: Snippet | None) -> MarkedText | None:
    return None if snippet is None else MarkedText(snippet.text, list(snippet.marks))


def _judged(topic: JudgedTopic | None) -> Judged | None:
    return None if topic is None else Judged(topic.qid, topic.relevant, topic.level)
