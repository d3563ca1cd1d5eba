"""The records that pass between the steps, in the order in which the data meets them."""

from __future__ import annotations

from typing import NamedTuple


class Document(NamedTuple):
    """A passage of a corpus."""

    docid: str
    title: str
    text: str

    @property
    def contents(self) -> str:
        """What is encoded and indexed: the title, then the text."""
        return f"{self.title} {self.text}".strip()


class ImpactVector(NamedTuple):
    """A document as the index sees it: each WordPiece with its quantized impact, 1 or more."""

    docid: str
    impacts: dict[str, int]


class Topic(NamedTuple):
    """A query with its id."""

    qid: str
    text: str


class Hit(NamedTuple):
    """A document found for a query. For an impact index the score is the exact inner product."""

    docid: str
    score: float


class Ranking(NamedTuple):
    """The hits of one topic, best first."""

    qid: str
    hits: list[Hit]
