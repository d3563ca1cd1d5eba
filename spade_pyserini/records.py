"""Documents, vectors, topics and hits, as they pass from encoding to indexing and searching."""

from __future__ import annotations

from typing import NamedTuple


class Document(NamedTuple):
    """A document of a corpus, or a passage of one."""

    docid: str
    title: str
    text: str

    @property
    def contents(self) -> str:
        """The text that is encoded and indexed: title and text."""
        return f"{self.title} {self.text}".strip()


class ImpactVector(NamedTuple):
    """A document in the index: WordPieces with their quantized impacts, integers from 1."""

    docid: str
    impacts: dict[str, int]


class RemovedTerm(NamedTuple):
    """A term that corpus-level pruning removed from the expansion vectors of a corpus.

    expanded: share of the documents that the expansion encoder would have put the term into.
    contained: share of the documents whose text contains it.
    """

    term: str
    expanded: float
    contained: float


class Topic(NamedTuple):
    """A query with its id."""

    qid: str
    text: str


class Hit(NamedTuple):
    """A document retrieved for a query. In an impact index its score is the inner product."""

    docid: str
    score: float


class Ranking(NamedTuple):
    """The hits of one topic, best first."""

    qid: str
    hits: list[Hit]
