"""The first and the last layers of a transformer as transformers of their own.

Two encoders whose adapters are in their last layers have the same first ones: these are computed
once for both.
"""

from __future__ import annotations

import copy
from typing import NamedTuple, cast

from torch import Tensor, nn
from transformers import PreTrainedModel


class Halves(NamedTuple):
    """``last(inputs_embeds=first(input_ids))`` is the whole transformer; weights are shared."""

    first: PreTrainedModel
    last: PreTrainedModel


def split(transformer: PreTrainedModel, last: int) -> Halves | None:
    """Cut off the ``last`` layers; None for a transformer that is not built like BERT."""
    encoder = getattr(transformer, "encoder", None)
    layers = getattr(encoder, "layer", None)
    if not isinstance(layers, nn.ModuleList) or not hasattr(transformer, "embeddings"):
        return None
    place = len(layers) - last
    return Halves(
        _with(transformer, encoder=_with(encoder, layer=layers[:place])),
        _with(transformer, embeddings=_Given(), encoder=_with(encoder, layer=layers[place:])),
    )


class _Given(nn.Module):
    """Instead of embeddings: the hidden states of the layer before."""

    def forward(self, *, inputs_embeds: Tensor, **_others: object) -> Tensor:
        return inputs_embeds


def _with(module: nn.Module | None, **children: nn.Module) -> PreTrainedModel:
    """A copy that shares everything with the module but these children."""
    changed = copy.copy(module)
    assert changed is not None
    changed._modules = {**changed._modules, **children}
    return cast(PreTrainedModel, changed)
