"""Compute only once the layers that two transformers have in common.

Two encoders whose adapters are in their last layers have the same first layers.
"""

from __future__ import annotations

import copy
from typing import NamedTuple, cast

from torch import Tensor, nn
from transformers import PreTrainedModel


class SharedLayers(NamedTuple):
    """The first layers, which two transformers have in common, and the last layers of each.

    No weights are copied.
    """

    first: PreTrainedModel
    weighting: PreTrainedModel
    expansion: PreTrainedModel

    def hidden_states(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the output of both transformers, [batch, length, m] each."""
        between: Tensor = self.first(input_ids=input_ids, attention_mask=attention_mask)[0]
        inputs = {"inputs_embeds": between, "attention_mask": attention_mask}
        return self.weighting(**inputs)[0], self.expansion(**inputs)[0]


def share_layers(
    weighting: PreTrainedModel, expansion: PreTrainedModel, last: int
) -> SharedLayers | None:
    """Join two transformers that differ in their ``last`` layers only.

    Returns None for transformers that are not built like BERT.
    """
    weighting_parts, expansion_parts = _split(weighting, last), _split(expansion, last)
    if weighting_parts is None or expansion_parts is None:
        return None
    return SharedLayers(*weighting_parts, expansion_parts[1])


def _split(
    transformer: PreTrainedModel, last: int
) -> tuple[PreTrainedModel, PreTrainedModel] | None:
    """Split a transformer before its ``last`` layers into two transformers with its weights."""
    encoder = getattr(transformer, "encoder", None)
    layers = getattr(encoder, "layer", None)
    if not isinstance(layers, nn.ModuleList) or not hasattr(transformer, "embeddings"):
        return None
    start = len(layers) - last
    return (
        _with_children(transformer, encoder=_with_children(encoder, layer=layers[:start])),
        _with_children(
            transformer,
            embeddings=_HiddenStates(),
            encoder=_with_children(encoder, layer=layers[start:]),
        ),
    )


class _HiddenStates(nn.Module):
    """Replaces the embedding layer. Returns its input, which is the output of earlier layers."""

    def forward(self, *, inputs_embeds: Tensor, **_others: object) -> Tensor:
        return inputs_embeds


def _with_children(module: nn.Module | None, **children: nn.Module) -> PreTrainedModel:
    """Return a copy of a module with some submodules replaced; all others are shared."""
    changed = copy.copy(module)
    assert changed is not None
    changed._modules = {**changed._modules, **children}
    return cast(PreTrainedModel, changed)
