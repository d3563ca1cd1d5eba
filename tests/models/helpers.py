"""Helper functions for the tests of models."""

from __future__ import annotations

import torch
from torch import Tensor

from spade_pyserini.models import SpadeEncoder
from spade_pyserini.models.dual_encoder import DualEncoder
from spade_pyserini.models.tensors import pad_batch

TEXTS = ["the old cat sleeps in the house", "a dog eats the fish", "river"]


def inputs(model: DualEncoder, texts: list[str] = TEXTS) -> tuple[Tensor, Tensor]:
    """Return input_ids and attention_mask of texts, [batch, length] each."""
    return pad_batch(model.wordpieces.document_ids(texts, 32), model.kept.device)


def hidden_states(transformer: torch.nn.Module, input_ids: Tensor, mask: Tensor) -> Tensor:
    """Return the output of the last layer, [batch, length, m]."""
    states: Tensor = transformer(input_ids=input_ids, attention_mask=mask)[0]
    return states


def embeddings(model: DualEncoder) -> Tensor:
    """Return the input embeddings of the expansion encoder, [|V|, m]."""
    return model.expansion.backbone.get_input_embeddings().get_parameter("weight")


def components(model: DualEncoder, texts: list[str] = TEXTS) -> tuple[Tensor, Tensor]:
    """Return the weighting and the expansion vectors of texts, [batch, |V|] each."""
    return SpadeEncoder(model).components(model.wordpieces.document_ids(texts, 32))


def weigh(model: DualEncoder, texts: list[str] = TEXTS) -> Tensor:
    """Return the aggregated vectors of texts, [batch, |V|]."""
    return SpadeEncoder(model).weigh(model.wordpieces.document_ids(texts, 32))
