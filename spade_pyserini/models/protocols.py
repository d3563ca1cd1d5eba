"""The interface of document encoders. Encoding, explanations and parameter sweeps use it.

`SpadeEncoder` implements it for SpaDE, and `systems.encoder.SystemEncoder` implements it for the
other systems. The interface of query encoders is `spade_pyserini.models.queries.QueryEncoder`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeGuard

import torch
from torch import Tensor

from spade_pyserini.models.queries import QueryEncoder
from spade_pyserini.models.term_counts import TermCounts
from spade_pyserini.models.wordpieces import DocumentIds, WordPieces
from spade_pyserini.records import RemovedTerm

if TYPE_CHECKING:
    from spade_pyserini.models.explanation import TermWeight


class EncoderConfig(Protocol):
    """The settings of a document encoder. A manifest records them, see `VectorSettings`."""

    @property
    def alpha(self) -> float:
        """The weight of added terms; 0.5 if the system does not have this setting."""

    @property
    def k(self) -> int:
        """The number of terms that each token may add; 0 if the system has no such limit."""

    @property
    def max_length(self) -> int:
        """The number of WordPieces of a document that are read, including special tokens."""

    @property
    def bits(self) -> int:
        """The size of a quantized impact in bits."""

    @property
    def scale(self) -> float | None:
        """The impact of a weight of 1, or None if it is calibrated on the corpus."""

    @property
    def saturate(self) -> bool:
        """Whether weights are log(1 + x), where x is the weighted sum of both encoders' outputs."""

    @property
    def prune_ratio(self) -> float:
        """Terms below this fraction of the document's largest weight are dropped."""

    @property
    def corpus_gamma(self) -> float:
        """The threshold of corpus-level pruning; 0 if it is off."""

    @property
    def trained(self) -> bool:
        """False if the weights are only initialised."""


class DocumentEncoder(Protocol):
    """Encodes texts as sparse vectors: a float weight, not negative, for each term."""

    @property
    def system(self) -> str:
        """The kind of model, such as ``splade``; empty for SpaDE."""

    @property
    def config(self) -> EncoderConfig: ...

    @property
    def wordpieces(self) -> WordPieces:
        """The tokenizer."""

    @property
    def fingerprint(self) -> str:
        """A digest of everything that vectors depend on: settings, tokenizer and weights."""

    @property
    def queries(self) -> QueryEncoder:
        """The query encoder to search the document vectors with."""

    @property
    def device(self) -> torch.device: ...

    @property
    def precision(self) -> str: ...

    @property
    def needs_counts(self) -> bool:
        """Whether vectors depend on the corpus. If so, this is a `CorpusEncoder`."""

    @property
    def removed(self) -> tuple[RemovedTerm, ...]:
        """The terms that corpus-level pruning removed."""

    def with_settings(self, **changes: Any) -> Self:
        """Return an encoder with other settings, given by name."""

    def with_precision(self, precision: str) -> Self:
        """Return an encoder with another precision, which the device must support."""

    def unchecked_precision(self, precision: str) -> Self:
        """Return an encoder with another precision; does not check that the device supports it."""

    def to(self, device: str | torch.device) -> Self:
        """Return a copy on another device, or this encoder if it is there already."""

    def check_precision(self) -> None:
        """Raise `UsageError` if the precision is not supported, or not useful, on the device."""

    def fixed(self) -> AbstractContextManager[None]:
        """Return a context manager for encoding many batches.

        The weights of the model must not change in the ``with`` block.
        """

    def cut_documents(self, texts: list[str]) -> list[DocumentIds]:
        """Tokenize documents and cut them to the maximum number of ids, see `DocumentIds`."""

    def characters_read(self, text: str) -> int:
        """Return how many characters of a text, from its start, the model reads."""

    def columns(self, batch: list[list[int]]) -> Sequence[str]:
        """Return n terms: the terms of the columns that `weigh` returns.

        For most encoders, these are all terms of the vocabulary.
        """

    def weigh(self, batch: list[list[int]]) -> Tensor:
        """Encode documents given as WordPiece ids into float vectors, [batch, n]."""

    def components(self, batch: list[list[int]]) -> tuple[Tensor, Tensor]:
        """Return two tensors [batch, n]: weights of the texts' own terms, and of added terms.

        SpaDE returns the vectors of its two encoders instead.
        """

    def aggregate(self, weighting: Tensor, expansion: Tensor) -> Tensor:
        """Combine the two vectors of `components` into the vectors that `weigh` returns."""

    def explain(self, text: str) -> list[TermWeight]:
        """Return the terms of a text's vector with their origin, the largest impact first."""


class CorpusEncoder(DocumentEncoder, Protocol):
    """A document encoder whose vectors depend on document frequencies or pruning in the corpus."""

    @property
    def config(self) -> CorpusConfig: ...

    def for_corpus(self, counts: TermCounts | None, removed: tuple[RemovedTerm, ...] = ()) -> Self:
        """Return an encoder for a corpus with these document frequencies and removed terms."""

    def expansion_only(self) -> Self:
        """Return an encoder that computes only expansion vectors.

        Corpus-level pruning uses it to decide which terms to remove.
        """


class CorpusConfig(EncoderConfig, Protocol):
    """The settings of an encoder with corpus-level pruning."""

    @property
    def corpus_few(self) -> float: ...


def needs_counts(encoder: DocumentEncoder) -> TypeGuard[CorpusEncoder]:
    """Return whether the vectors of an encoder depend on the corpus."""
    return encoder.needs_counts
