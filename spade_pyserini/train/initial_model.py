"""The model that training starts from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import nn

from spade_pyserini.errors import UsageError
from spade_pyserini.models import SpadeConfig, SpadeModel
from spade_pyserini.train.recipe import Recipe

# Settings of [term_weights] that `SpadeConfig` has, too. None means the value of ``init`` or,
# without ``init``, the default.
TERM_WEIGHTS = ("saturate", "whole_word_forms", "prune_ratio", "corpus_gamma", "corpus_few")
MODEL_ONLY = ("forms", "corpus_idf")  # only the stage `train` can change these in a model
SHAPE = ("adapter_rank", "adapter_layers", "decoder_rank")  # settings that determine the tensors


def start_model(recipe: Recipe) -> SpadeModel:
    """Return the model that training starts from, with the settings of the recipe.

    It is the recipe's ``backbone`` with new heads, or the recipe's model ``init``.
    """
    model = _new_model(recipe) if recipe.model.init is None else _initial_model(recipe)
    settings = recipe.model
    # If a length is too large for the backbone, this fails now rather than after training.
    for length in (settings.encode_length or settings.max_length, settings.max_length):
        model = model.with_settings(max_length=length)
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = settings.dropout
    return model


def _new_model(recipe: Recipe) -> SpadeModel:
    settings = recipe.model
    config = SpadeConfig(
        k=settings.k,
        max_length=settings.max_length,
        pooling=settings.pooling,
        **_term_weights(recipe),
        **{name: getattr(settings, name) for name in SHAPE},
    )
    model = SpadeModel.from_backbone(settings.backbone, config, recipe.optimization.seed)
    model.weighting.start_at(settings.weighting_bias)
    return model


def _initial_model(recipe: Recipe) -> SpadeModel:
    settings = recipe.model
    model = SpadeModel.from_pretrained(str(settings.init), merge=False)
    for name in SHAPE:
        wanted, actual = getattr(settings, name), getattr(model.config, name)
        if wanted != actual:
            message = f"recipe: {name} is {wanted}, but {actual} in {settings.init}"
            raise UsageError(f"{message}; add {name}={actual}")
    if model.config.shared_backbone:
        message = f"recipe: the model {settings.init} is untrained"
        raise UsageError(f"{message}; set backbone instead of init")
    changes = {"k": settings.k, "max_length": settings.max_length, "pooling": settings.pooling}
    return model.with_settings(**changes, **_term_weights(recipe))


def _term_weights(recipe: Recipe) -> dict[str, Any]:
    """Return the settings of `TERM_WEIGHTS` that are not None in the recipe."""
    values = {name: getattr(recipe.term_weights, name) for name in TERM_WEIGHTS}
    return {name: value for name, value in values.items() if value is not None}


def refuse_changes(recipe: Recipe, model: SpadeModel, names: Iterable[str]) -> None:
    """Raise `UsageError` if the recipe changes one of these settings of ``init``.

    names: settings of ``[term_weights]`` that the stage cannot change.
    """
    for name in names:
        wanted, actual = getattr(recipe.term_weights, name), getattr(model.config, name)
        if wanted is not None and wanted != actual:
            message = f"recipe: {name} is {wanted}, but {actual} in {recipe.model.init}"
            cure = (
                "leave it out, or first save a model with this value by `spade train` with "
                "--set steps=0 --set warmup_steps=0"
            )
            raise UsageError(f"{message}, and this stage cannot change it; {cure}")
