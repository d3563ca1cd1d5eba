"""Record types of the server's JSON answers; the page `/docs` shows them with their docstrings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MarkedText:
    """A text. ``marks`` has the start and the end of each word that has a matched term."""

    text: str
    marks: list[tuple[int, int]]


@dataclass(frozen=True)
class MatchedTerm:
    """A term of the query that a document has.

    weight: how much the term adds to the score. share: the weight divided by the score. in_text:
    true if the text contains the term, false if the model added the term, null if the text is not
    available.
    """

    term: str
    weight: float
    share: float
    in_text: bool | None


@dataclass(frozen=True)
class QueryTerm:
    """A WordPiece of the query, or a word that is not in the vocabulary.

    text: the characters from ``start`` to ``end`` in the query. term: the WordPiece, or null if the
    word is not in the vocabulary. documents: number of documents with the term. removed: whether
    the search left the term out.
    """

    text: str
    start: int
    end: int
    term: str | None
    documents: int
    removed: bool


@dataclass(frozen=True)
class HitAnswer:
    """A hit: a document in the ranking of an engine.

    other_rank: the rank of the document in the other engine; null if the document is not among the
    first ``compared`` hits of that engine. grade: the relevance judgement, or null if there is
    none.
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
    """The judged topic whose text is the query.

    relevant: number of documents with a grade of ``level`` or more.
    """

    qid: str
    relevant: int
    level: int


@dataclass(frozen=True)
class SearchAnswer:
    """The answer of ``/search``.

    results: the hits of each engine, ``spade`` and ``bm25``. compared: number of hits among which
    ``other_rank`` is looked up. judged: null if the query is not a judged topic.
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
    """A term of a document's vector.

    in_text: true if the text contains the term, false if the model added the term, null if the text
    is not available.
    """

    term: str
    impact: int
    in_text: bool | None


@dataclass(frozen=True)
class DocumentAnswer:
    """The answer of ``/doc``: a document and its vector; the largest impact is first."""

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
    each word. added: terms that are not in the text; the largest impact is first. terms: number of
    terms in the document's vector. cut: whether ``pieces`` lacks the end of the text.
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
    """A document that has a term.

    in_text: whether the text of the document contains the term; null if the text is not available.
    """

    docid: str
    impact: int
    title: str | None
    in_text: bool | None


@dataclass(frozen=True)
class TermAnswer:
    """The answer of ``/terms``: the documents with a term; the largest impact is first.

    documents: number of documents with the term. total: number of all documents in the index.
    """

    term: str
    documents: int
    total: int
    hits: list[TermHit]


@dataclass(frozen=True)
class ExpandedTerm:
    """A term of an expanded text.

    weighting, expansion: the parts of the impact that come from the two encoders.
    """

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

    texts: state of the documents' texts: ``ready``, ``loading`` or ``missing``. texts_problem: why
    the texts are missing, or null. judged_topics: number of topics with judgements. examples: texts
    of some judged topics. expand: the model of ``/expand``, or null if there is none.
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
