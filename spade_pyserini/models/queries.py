"""Query encoders, which map the text of a query to weights of terms.

The encoders here need only a tokenizer. `systems.neural_queries` runs a model. All of them return
positive integers, so that the scores of an impact index are integers, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from spade_pyserini.errors import UsageError
from spade_pyserini.formats.query_side import (
    BOOLEAN_KIND,
    NEURAL,
    TABLE,
    WORDS,
    QuerySide,
    weights_fingerprint,
)
from spade_pyserini.models.wordpieces import WordPieces


class QueryEncoder(Protocol):
    """Encodes queries, to search the vectors of a document encoder."""

    @property
    def side(self) -> QuerySide:
        """The description of this encoder in the manifests of vectors and indexes."""

    @property
    def wordpieces(self) -> WordPieces:
        """The tokenizer."""

    @property
    def weights(self) -> Mapping[str, int]:
        """The table of term weights to save with vectors; empty if there is none."""

    def encode(self, texts: Sequence[str]) -> list[dict[str, int]]:
        """Return, for each query, the weights of its terms: integers of 1 or more."""

    def terms_of(self, text: str) -> list[str]:
        """Return the distinct terms of a text, in the form that they have in document vectors.

        Unlike `encode`, this method is fast and never adds a term. It serves snippets and
        explanations.
        """


@dataclass(frozen=True)
class _UnweightedQueries(ABC):
    """Each distinct term of a query has weight 1."""

    kind: ClassVar[str]
    wordpieces: WordPieces
    prompt: str = ""
    weights: Mapping[str, int] = field(default_factory=dict, init=False)

    @property
    def side(self) -> QuerySide:
        """How queries are encoded, as manifests record it: the kind and the prompt."""
        return QuerySide(self.kind, prompt=self.prompt)

    def encode(self, texts: Sequence[str]) -> list[dict[str, int]]:
        """Return, for each query, its distinct terms with the weight 1."""
        return [dict.fromkeys(self.terms_of(self.prompt + text), 1) for text in texts]

    @abstractmethod
    def terms_of(self, text: str) -> list[str]:
        """Return the distinct terms of a text."""


class BooleanQueries(_UnweightedQueries):
    """Each distinct WordPiece of a query has weight 1 (psi(q) of the paper's Eq. 1)."""

    kind = BOOLEAN_KIND

    def terms_of(self, text: str) -> list[str]:
        """Return the distinct WordPieces of a text."""
        return self.wordpieces.query_terms(text)


class WordQueries(_UnweightedQueries):
    """Each distinct word of a query has weight 1, for systems whose terms are words."""

    kind = WORDS

    def terms_of(self, text: str) -> list[str]:
        """Return the distinct words of a text, without punctuation."""
        return list(dict.fromkeys(self.wordpieces.words(text)))


@dataclass(frozen=True)
class TableQueries:
    """Each distinct WordPiece of a query has the weight that a table gives it, idf for example.

    weights: the weight of each term, an integer of 1 or more. Terms that are not in ``weights`` are
        ignored.
    """

    wordpieces: WordPieces
    weights: Mapping[str, int]
    model: str = ""
    prompt: str = ""

    @property
    def side(self) -> QuerySide:
        """How queries are encoded, as manifests record it.

        The kind is ``table``. The fingerprint is a digest of the weights and the prompt.
        """
        fingerprint = weights_fingerprint(self.weights, self.prompt)
        return QuerySide(TABLE, self.model, fingerprint, self.prompt)

    def encode(self, texts: Sequence[str]) -> list[dict[str, int]]:
        """Return, for each query, the weights of the WordPieces that are in the table."""
        return [
            {
                term: self.weights[term]
                for term in self.terms_of(self.prompt + text)
                if term in self.weights
            }
            for text in texts
        ]

    def terms_of(self, text: str) -> list[str]:
        """Return the distinct WordPieces of a text."""
        return self.wordpieces.query_terms(text)


@dataclass(frozen=True)
class PreEncodedQueries:
    """Queries that another tool encoded: `encode` expects the ids of queries, not their texts."""

    wordpieces: WordPieces
    vectors: Mapping[str, dict[str, int]]
    weights: Mapping[str, int] = field(default_factory=dict, init=False)

    @property
    def side(self) -> QuerySide:
        """How queries are encoded, as manifests record it.

        The kind is ``neural``. The model is empty, because it is not known.
        """
        return QuerySide(NEURAL)

    def encode(self, texts: Sequence[str]) -> list[dict[str, int]]:
        """Return the vectors of the queries with these ids."""
        return [self.vectors[text] for text in texts]

    def terms_of(self, text: str) -> list[str]:
        """Return the distinct WordPieces of a text."""
        return self.wordpieces.query_terms(text)


def open_queries(
    side: QuerySide, wordpieces: WordPieces, weights: Mapping[str, int], source: object
) -> QueryEncoder:
    """Return the encoder that a query side describes.

    ``source`` names the vectors or the index in messages. Raises `UsageError` if the queries need a
    neural model, because a model is loaded only if the user names it.
    """
    if side.kind == WORDS:
        return WordQueries(wordpieces, side.prompt)
    if side.kind == TABLE:
        return TableQueries(wordpieces, weights, side.model, side.prompt)
    if side.kind == NEURAL:
        message = f"{source} needs queries that the neural model {side.model!r} encodes"
        cure = (
            f"give query_encoder={side.model} (the name or the folder of this model), or "
            "pre_encoded=True if the topics are encoded already"
        )
        raise UsageError(f"{message}; {cure}")
    return BooleanQueries(wordpieces, side.prompt)


def as_queries(source: WordPieces | QueryEncoder) -> QueryEncoder:
    """Return a query encoder unchanged; for a tokenizer, return the encoder of boolean queries."""
    return BooleanQueries(source) if isinstance(source, WordPieces) else source


def check_vocabulary(queries: QueryEncoder, wordpieces: WordPieces, source: object) -> None:
    """Raise `UsageError` if queries and ``source`` have different vocabularies."""
    if queries.wordpieces.fingerprint != wordpieces.fingerprint:
        message = f"the query encoder has another vocabulary than {source}"
        raise UsageError(f"{message}; give a query encoder with the same vocabulary")


def check_queries(expected: QuerySide, queries: QueryEncoder, source: object) -> None:
    """Raise `UsageError` if ``queries`` is not the encoder that vectors or an index need.

    `PreEncodedQueries` are not checked, because the model that encoded them is not known.
    """
    if isinstance(queries, PreEncodedQueries):
        return
    given = queries.side
    if given.kind != expected.kind:
        needed = f"{expected.kind} queries" + (f" of {expected.model}" if expected.model else "")
        message = f"{source} needs {needed}, not {given.kind} queries"
        if expected.kind == NEURAL:
            raise UsageError(f"{message}; give query_encoder={expected.model}")
        raise UsageError(f"{message}; leave out query_encoder=NAME")
    if given.fingerprint != expected.fingerprint:
        message = f"{given.model!r} has other weights than the query encoder of {source}"
        raise UsageError(
            f"{message}; give the version of {expected.model!r} that {source} was made for"
        )
    if given.prompt != expected.prompt:
        shown = f"{expected.prompt!r}, not {given.prompt!r}"
        message = f"the text before each query (prompt) for {source} must be {shown}"
        raise UsageError(f"{message}; give a query encoder with the same prompt")
