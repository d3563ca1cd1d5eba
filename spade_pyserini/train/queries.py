"""Queries as boolean vectors (v_q)."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from spade_pyserini.models.wordpieces import WordPieces


class HasTerms(Protocol):
    """A model with a tokenizer and a tensor of |V| elements."""

    @property
    def wordpieces(self) -> WordPieces: ...
    @property
    def kept(self) -> Tensor: ...


def query_vectors(model: HasTerms, texts: list[str]) -> Tensor:
    """Return boolean vectors [queries, |V|]: 1 for the terms of each query, 0 for all others."""
    vectors = torch.zeros(len(texts), len(model.kept))
    for row, text in enumerate(texts):
        vectors[row, model.wordpieces.query_ids(text)] = 1
    return vectors.to(model.kept.device)
