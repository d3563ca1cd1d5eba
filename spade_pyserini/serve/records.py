"""The answers of the server. Their fields are those of the JSON, and `/docs` describes them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MarkedText:
    """A text; ``marks`` are the start and end of each word that has a matched term."""

    text: str
    marks: list[tuple[int, int]]


@dataclass(frozen=True)
class MatchedTerm:
    """A term of the query that a document has.

    weight: its part of the score. share: the weight divided by the score. in_text: true if the text
    contains it, false if the model added it, null if the text is not known.
    """

    term: str
    weight: float
    share: float
    in_text: bool | None


@dataclass(frozen=True)
class QueryTerm:
    """A WordPiece of the query.

    text: its characters in the query, from ``start`` to ``end``. term: null if the vocabulary does
    not have the word. documents: number of documents with the term. removed: whether the search
    left it out.
    """

    text: str
    start: int
    end: int
    term: str | None
    documents: int
    removed: bool


@dataclass(frozen=True)
class HitAnswer:
    """A document of a ranking.

    other_rank: its rank in the other engine; null if it is not among the first ``compared`` hits
    there. grade: its relevance judgement, null if there is none.
    """

    rank: int
    docid: str
    score: float
    other_rank: int | None
    grade: int | None
    title: MarkedText | None
    snippet: MarkedText | None
    matched: list[MatchedTerm]


@dataclass(frozen=True)
class EngineAnswer:
    """The hits of one engine. milliseconds: time of the search, without snippets."""

    index: str
    terms: list[str]
    milliseconds: float
    hits: list[HitAnswer]


@dataclass(frozen=True)
class Judged:
    """The topic of the query. relevant: number of documents with a grade of ``level`` or more."""

    qid: str
    relevant: int
    level: int


@dataclass(frozen=True)
class SearchAnswer:
    """The answer of ``/search``.

    results: by engine, ``spade`` or ``bm25``. compared: number of hits in which ``other_rank`` is
    looked up. judged: null if the query is not a judged topic.
    """

    query: str
    terms: list[QueryTerm]
    compared: int
    judged: Judged | None
    results: dict[str, EngineAnswer]


@dataclass(frozen=True)
class Hits:
    """The answer of ``/search`` with ``brief=true``: ids and scores only."""

    query: str
    results: dict[str, list[tuple[str, float]]]


@dataclass(frozen=True)
class DocumentTerm:
    """A term of a document's vector; in_text as in MatchedTerm."""

    term: str
    impact: int
    in_text: bool | None


@dataclass(frozen=True)
class DocumentAnswer:
    """The answer of ``/doc``: a document and its vector, the largest impact first."""

    docid: str
    title: str | None
    text: str | None
    terms: list[DocumentTerm]


@dataclass(frozen=True)
class Piece:
    """A word with an impact, or the text between two such words (impact 0).

    matches: whether the word has a term of the query.
    """

    text: str
    impact: int
    matches: bool


@dataclass(frozen=True)
class ExplainAnswer:
    """The answer of ``/explain``: why a document matches a query.

    missing: terms of the query that the document does not have. pieces: the text with the impact of
    each word. added: terms that are not in the text, the largest impact first. terms: number of all
    terms of the document. cut: whether the end of the text is left out.
    """

    docid: str
    title: str | None
    score: int
    matched: list[MatchedTerm]
    missing: list[str]
    pieces: list[Piece]
    added: list[DocumentTerm]
    terms: int
    cut: bool


@dataclass(frozen=True)
class TermHit:
    """A document with a term. in_text: whether its text contains the term."""

    docid: str
    impact: int
    title: str | None
    in_text: bool | None


@dataclass(frozen=True)
class TermAnswer:
    """The answer of ``/terms``: the documents with a term, the largest impact first.

    documents: number of documents with the term. total: number of all documents.
    """

    term: str
    documents: int
    total: int
    hits: list[TermHit]


@dataclass(frozen=True)
class ExpandedTerm:
    """A term of an expanded text, with the parts of its impact that come from the two encoders."""

    term: str
    in_text: bool
    weighting: float
    expansion: float
    impact: int


@dataclass(frozen=True)
class ExpandAnswer:
    """The answer of ``/expand``. left_out: number of WordPieces at the end that were not read."""

    model: str
    milliseconds: float
    left_out: int
    pieces: list[Piece]
    terms: list[ExpandedTerm]


@dataclass(frozen=True)
class IndexStats:
    """An index that is served."""

    name: str
    kind: str
    corpus: str
    model: str
    documents: int
    postings: int


@dataclass(frozen=True)
class StatsAnswer:
    """The answer of ``/stats``.

    texts: ``ready``, ``loading``, or ``missing`` for the reason in texts_problem. judged_topics:
    number of topics with judgements. examples: queries of some of them. expand: the model of
    ``/expand``, null if there is none.
    """

    version: str
    spade: IndexStats
    bm25: IndexStats | None
    texts: str
    texts_problem: str | None
    judged_topics: int
    examples: list[str]
    expand: str | None
    limits: dict[str, float]


@dataclass(frozen=True)
class Problem:
    """The answer to a request that failed."""

    error: str
