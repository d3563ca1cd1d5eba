"""Low-rank adapters: two encoders on one frozen transformer, so that a pair weighs megabytes.

Adapters are a way to train and to keep a model. To encode, they are merged into the weights, and
nothing of them is left.
"""

from __future__ import annotations

import hashlib
from typing import cast

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from torch import nn
from transformers import PreTrainedModel

MARK = "lora_"  # in the names of an adapter's tensors


def with_adapters(transformer: PreTrainedModel, rank: int, layers: int = 0) -> PreTrainedModel:
    """Freeze the transformer and add fresh adapters to the linear parts of its last layers.

    ``layers`` is how many of them, 0 for all. A fresh adapter changes nothing: its second matrix
    is zero.
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
    """The number of the layer that a module is in: 3 for ``encoder.layer.3.output.dense``."""
    return next((int(part) for part in name.split(".") if part.isdigit()), 0)


def merged(adapted: PreTrainedModel) -> PreTrainedModel:
    """The plain transformer with the adapters added to a copy of its weights."""
    for parameter in adapted.parameters():
        parameter.data = parameter.data.clone()  # the frozen ones are another encoder's too
    return cast(PreTrainedModel, cast(PeftModel, adapted).merge_and_unload())


def is_frozen(name: str) -> bool:
    """Whether a tensor of a model with adapters is the backbone's own."""
    return ".backbone." in name and MARK not in name


def weights_fingerprint(transformer: nn.Module) -> str:
    """The same for two transformers exactly when they have the same weights."""
    digest = hashlib.sha256()
    for name, tensor in sorted(transformer.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.contiguous().cpu().view(torch.uint8).numpy().data)
    return digest.hexdigest()
