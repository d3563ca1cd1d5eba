"""Optimisers: AdamW for each encoder, one rate for its transformer and one for its head."""

from __future__ import annotations

import torch
from torch import nn

from spade_pyserini.models import SpadeModel
from spade_pyserini.train.recipe import Recipe


def encoder_optimiser(model: SpadeModel, name: str, recipe: Recipe) -> torch.optim.AdamW:
    """For ``weighting`` or ``expansion``; frozen weights are left out."""
    encoder: nn.Module = getattr(model, name)
    rate = getattr(recipe, f"{name}_rate")
    body = [one for one in encoder.get_submodule("backbone").parameters() if one.requires_grad]
    head = list(encoder.get_submodule("head").parameters())
    head_rates = [recipe.head_rate, rate]
    if name == "expansion":
        head_rates.insert(0, recipe.expansion_head_rate)
    head_rate = next(one for one in head_rates if one is not None)  # 0 freezes it
    return _adamw([(body, rate), (head, head_rate)])


def query_optimiser(model: SpadeModel, recipe: Recipe) -> torch.optim.AdamW:
    """For learned weights of query terms."""
    return _adamw([([model.query_weights], recipe.idf_rate)])


def _adamw(groups: list[tuple[list[nn.Parameter], float]]) -> torch.optim.AdamW:
    return torch.optim.AdamW(
        [{"params": params, "lr": rate, "initial_lr": rate} for params, rate in groups if params],
        weight_decay=0.0,
    )


def step(optimiser: torch.optim.Optimizer, recipe: Recipe, number: int) -> None:
    """Update with the rates of step ``number``, from 0, and clear the gradients."""
    factor = rate_factor(recipe, number)
    for group in optimiser.param_groups:
        group["lr"] = group["initial_lr"] * factor
    if recipe.max_grad_norm:
        params = [one for group in optimiser.param_groups for one in group["params"]]
        nn.utils.clip_grad_norm_(params, recipe.max_grad_norm)
    optimiser.step()
    optimiser.zero_grad(set_to_none=True)


def rate_factor(recipe: Recipe, number: int) -> float:
    """1 for a constant schedule; else up to 1 within the warm-up of the rate, then down to 0."""
    if recipe.schedule == "constant":
        return 1.0
    up = (number + 1) / (recipe.rate_warmup + 1)
    down = (recipe.steps - number) / max(1, recipe.steps - recipe.rate_warmup)
    return min(1.0, up, down)
