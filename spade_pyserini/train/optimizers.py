"""Optimizers: an AdamW for each encoder, with separate learning rates for transformer and head."""

from __future__ import annotations

import torch
from torch import nn

from spade_pyserini.models import SpadeModel
from spade_pyserini.train.settings import OptimizationSettings


def encoder_optimizer(
    model: SpadeModel, name: str, settings: OptimizationSettings
) -> torch.optim.AdamW:
    """Return the optimizer of the encoder ``name``; frozen weights are left out."""
    encoder: nn.Module = getattr(model, name)
    rate = getattr(settings, f"{name}_rate")
    backbone = encoder.get_submodule("backbone").parameters()
    body = [parameter for parameter in backbone if parameter.requires_grad]
    head = list(encoder.get_submodule("head").parameters())
    head_rates = [settings.head_rate, rate]
    if name == "expansion":
        head_rates.insert(0, settings.expansion_head_rate)
    # Use the first rate that is not None; 0 is a valid rate and freezes the head.
    head_rate = next(head_rate for head_rate in head_rates if head_rate is not None)
    return adamw([(body, rate), (head, head_rate)])


def adamw(groups: list[tuple[list[nn.Parameter], float]]) -> torch.optim.AdamW:
    """Return AdamW without weight decay for groups of parameters with their learning rates."""
    return torch.optim.AdamW(
        [{"params": params, "lr": rate, "initial_lr": rate} for params, rate in groups if params],
        weight_decay=0.0,
    )


def step(optimizer: torch.optim.Optimizer, settings: OptimizationSettings, number: int) -> None:
    """Update the weights at step ``number``, counted from 0, and clear the gradients."""
    factor = rate_factor(settings, number)
    for group in optimizer.param_groups:
        group["lr"] = group["initial_lr"] * factor
    if settings.max_grad_norm:
        groups = optimizer.param_groups
        parameters = [parameter for group in groups for parameter in group["params"]]
        nn.utils.clip_grad_norm_(parameters, settings.max_grad_norm)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def rate_factor(settings: OptimizationSettings, number: int) -> float:
    """Return the factor of the learning rates at step ``number``, counted from 0.

    With a constant schedule, the factor is 1. With a linear schedule, it rises to 1 in
    ``rate_warmup`` steps, then falls to 0.
    """
    if settings.schedule == "constant":
        return 1.0
    up = (number + 1) / (settings.rate_warmup + 1)
    down = (settings.steps - number) / max(1, settings.steps - settings.rate_warmup)
    return min(1.0, up, down)
