"""The interface of a system: a PyTorch module that maps token ids to weights of terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import torch
from torch import Tensor, nn

from spade_pyserini.models.backbone import Backbone
from spade_pyserini.models.wordpieces import WordPieces


class Part(NamedTuple):
    """A transformer in a system, which is the attribute ``name`` of the module ``owner``."""

    owner: nn.Module
    name: str


class Published(NamedTuple):
    """A system in the layout of published models.

    config: the contents of ``config.json``. tensors: the tensors by their names in the files.
    """

    config: dict[str, Any]
    tensors: dict[str, Tensor]


class System(nn.Module):
    """A document encoder as a PyTorch module; subclasses implement `forward`.

    ``kept`` [|V|] is True for the terms that vectors may contain. ``query_weights`` [|V|] has the
    weight of each term in queries, or is None. `SystemEncoder` multiplies document vectors by these
    weights.
    """

    name: ClassVar[str]
    architecture: ClassVar[str]  # `architectures` in the config.json of published models
    terms_are_words: ClassVar[bool] = False
    kept: Tensor
    query_weights: Tensor | None

    def __init__(self, wordpieces: WordPieces, size: int) -> None:
        """``size`` is |V|, the number of rows of the embedding matrix."""
        super().__init__()
        self.wordpieces = wordpieces
        kept = torch.zeros(size, dtype=torch.bool)
        kept[: wordpieces.vocabulary_size] = True  # further rows only pad the embedding matrix
        self.register_buffer("kept", kept, persistent=False)
        self.register_buffer("query_weights", None)

    @classmethod
    def from_backbone(cls, backbone: Backbone) -> Self:
        """Build an untrained system, with a new head on a pre-trained transformer."""
        raise NotImplementedError

    @property
    def left_out(self) -> frozenset[int]:
        """The ids of the terms that no vector of this system contains."""
        return self.wordpieces.special_ids | self.wordpieces.unused_ids

    @property
    def transformers(self) -> list[Part]:
        """The transformers of the system; training can add adapters to them."""
        raise NotImplementedError

    def published(self) -> Published:
        """Return the settings and tensors of this system in the layout of published models."""
        raise NotImplementedError

    @property
    def settings(self) -> dict[str, object]:
        """The settings that vectors depend on, besides the weights. Fingerprints include them."""
        return {}

    def drop(self, terms: frozenset[int]) -> None:
        """Exclude terms, given as ids, from all vectors."""
        self.kept[sorted(terms)] = False

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Encode documents, given by two tensors [batch, length]; returns weights [batch, n]."""
        raise NotImplementedError

    def query_vectors(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Encode queries, [batch, |V|]: like documents, unless a subclass overrides this."""
        vectors: Tensor = self(input_ids, attention_mask)
        return vectors

    def columns(self, batch: list[list[int]]) -> Sequence[str]:
        """Return the terms of the n columns that `forward` returns.

        These are the terms of the vocabulary, except in systems whose terms are words.
        """
        return self.wordpieces.terms

    def own_terms(self, batch: list[list[int]]) -> Tensor:
        """Return a mask [batch, n] that is True for the terms that each text contains."""
        own = torch.zeros(len(batch), len(self.kept), dtype=torch.bool)
        for row, ids in zip(own, batch, strict=True):
            row[ids] = True
        return own.to(self.kept.device)
