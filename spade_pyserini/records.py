"""Types of documents, vectors, topics, hits and rankings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple


class Document(NamedTuple):
    """A document of a corpus, or a passage of a document."""

    docid: str
    title: str
    text: str

    @property
    def contents(self) -> str:
        """The text that is encoded and indexed: title and text."""
        return f"{self.title} {self.text}".strip()


class ImpactVector(NamedTuple):
    """The sparse vector of a document: WordPieces and their quantized impacts (integers >= 1)."""

    docid: str
    impacts: dict[str, int]


class RemovedTerm(NamedTuple):
    """A term that corpus-level pruning removed from the expansion vectors of a corpus.

    expanded: share of the documents to which the expansion encoder would have added the term.
    contained: share of the documents whose text contains the term.
    """

    term: str
    expanded: float
    contained: float


class Topic(NamedTuple):
    """A query with its id."""

    qid: str
    text: str


class Hit(NamedTuple):
    """A retrieved document and its score.

    In an impact index, the score is the inner product of the document and query vectors.
    """

    docid: str
    score: float


class Ranking(NamedTuple):
    """The hits of one topic, best first."""

    qid: str
    hits: list[Hit]


FindDocuments = Callable[[Collection[str]], Mapping[str, Document]]
"""A function that finds documents by their ids; the result has no entry for an unknown id."""
