"""The model that training starts from."""

from __future__ import annotations

from torch import nn

from spade_pyserini.errors import UsageError
from spade_pyserini.models import SpadeConfig, SpadeModel
from spade_pyserini.train.recipe import Recipe

SHAPE = ("adapter_rank", "adapter_layers", "decoder_rank")  # settings that determine the tensors


def start_model(recipe: Recipe) -> SpadeModel:
    """The recipe's backbone with new heads, or the model ``init``, with the recipe's settings."""
    model = _new_model(recipe) if recipe.model.init is None else _initial_model(recipe)
    settings = recipe.model
    # Fails now, rather than after training, if the backbone cannot read so many WordPieces.
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
        saturate=bool(recipe.term_weights.saturate),
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
        raise UsageError(f"{message}; name its backbone instead of init")
    changes = {"k": settings.k, "max_length": settings.max_length, "pooling": settings.pooling}
    if recipe.term_weights.saturate is not None:
        changes["saturate"] = recipe.term_weights.saturate
    return model.with_settings(**changes)
