"""Low-rank adapters: both encoders use one frozen transformer, so a saved model is small.

Training uses adapters, and model files store them. Before a model encodes, `merge_adapters` adds
the adapters to the weights.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TypeVar, cast

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from torch import nn
from transformers import PreTrainedModel

from spade_pyserini.models.dual_encoder import Adapters, DualEncoder
from spade_pyserini.models.shared_layers import share_layers

SETTINGS = ("adapter_rank", "adapter_layers", "base", "base_fingerprint")
MARK = "lora_"  # part of the name of every adapter tensor
Model = TypeVar("Model", bound=DualEncoder)


def with_adapters(transformer: PreTrainedModel, rank: int, layers: int = 0) -> PreTrainedModel:
    """Freeze a transformer and add new adapters to the linear modules of its last layers.

    rank: the rank of the adapters. layers: the number of layers with adapters; 0 means all layers.
    New adapters do not change the output: their second matrix is zero.
    """
    depth = transformer.config.num_hidden_layers
    adapted = [
        name
        for name, module in transformer.named_modules()
        if isinstance(module, nn.Linear) and _layer(name) >= depth - (layers or depth)
    ]
    config = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=adapted)
    return cast(PreTrainedModel, get_peft_model(transformer, config))


def _layer(name: str) -> int:
    """Return the layer number in a module's name: 3 for ``encoder.layer.3.output.dense``."""
    return next((int(part) for part in name.split(".") if part.isdigit()), 0)


def merge_adapters(model: Model) -> Model:
    """Return a copy of the model with the adapters added to the weights of its transformers.

    A model without adapters is returned unchanged.
    """
    if not model.config.adapter_rank:
        return model
    merged = copy.deepcopy(model)
    for encoder in (merged.weighting, merged.expansion):
        encoder.backbone = merged_transformer(encoder.backbone)
    # Only the last layers have adapters; the earlier layers are the same in both encoders.
    if layers := model.config.adapter_layers:
        merged.shared_layers = share_layers(
            merged.weighting.backbone, merged.expansion.backbone, layers
        )
    settings = {name: getattr(model.config, name) for name in SETTINGS}
    tensors = {name: x.clone() for name, x in model.state_dict().items() if MARK in name}
    merged.adapters = Adapters(settings, tensors)
    merged.config = replace(
        model.config, adapter_rank=0, adapter_layers=0, base=None, base_fingerprint=None
    )
    return merged


def still_merged(model: DualEncoder, base: PreTrainedModel) -> bool:
    """Return whether the transformers of a merged model equal ``base`` plus the merged adapters.

    They differ if their weights were trained or replaced after `merge_adapters`.
    """
    if model.adapters is None:
        return False
    settings, tensors = model.adapters
    for name in ("weighting", "expansion"):
        adapted = with_adapters(
            copy.deepcopy(base), settings["adapter_rank"], settings["adapter_layers"]
        )
        prefix = f"{name}.backbone."
        own = {x.removeprefix(prefix): y for x, y in tensors.items() if x.startswith(prefix)}
        adapted.load_state_dict(own, strict=False)
        expected = merged_transformer(adapted).state_dict()
        actual = getattr(model, name).backbone.state_dict()
        if expected.keys() != actual.keys():
            return False
        if not all(torch.equal(actual[x].cpu(), expected[x]) for x in expected):
            return False
    return True


def merged_transformer(adapted: PreTrainedModel) -> PreTrainedModel:
    """Turn a transformer with adapters into a transformer without them. Changes ``adapted``."""
    for parameter in adapted.parameters():
        # Both encoders share the frozen tensors; without a copy, merging would change both.
        parameter.data = parameter.data.clone()
    return cast(PreTrainedModel, cast(PeftModel, adapted).merge_and_unload())


def has_adapters(model: nn.Module) -> bool:
    """Return whether a model has adapters that are not merged."""
    return any(MARK in name for name, _ in model.named_parameters())


def is_frozen(name: str) -> bool:
    """Return True if a tensor of a model with adapters belongs to the frozen transformer."""
    return ".backbone." in name and MARK not in name
