"""The system that training starts from, and its optimizer."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

from spade_pyserini.errors import UsageError
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.adapters import with_adapters
from spade_pyserini.models.backbone import Backbone, load_backbone
from spade_pyserini.models.hub import resolve_model
from spade_pyserini.models.systems.encoder import SystemEncoder
from spade_pyserini.models.systems.loading import load_encoder
from spade_pyserini.models.systems.masked_lm_system import MaskedLMSystem
from spade_pyserini.models.systems.recognise import SPADE, recognise
from spade_pyserini.models.systems.system import System
from spade_pyserini.models.tensors import pad_batch
from spade_pyserini.train.encoders import SIMILAR
from spade_pyserini.train.extension_settings import TermWeightSettings
from spade_pyserini.train.optimizers import adamw
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.sparse_start import activation_limit
from spade_pyserini.train.systems.registry import TRAINED

# Settings that only SpaDE has, and the values that switch them off.
UNUSED = {
    "optimization.warmup_steps": 0,
    "model.decoder_rank": 0,
    "model.expansion_terms": 0,
    "losses.l1": 0.0,
}


def check_recipe(recipe: Recipe) -> None:
    """Raise `UsageError` for settings that the system of the recipe does not have."""
    values, name = recipe.flat(), recipe.model.system
    wrong = [key for key, unused in UNUSED.items() if values[key] != unused]
    if recipe.term_weights != TermWeightSettings():
        wrong.append("term_weights")
    if recipe.model.start_terms and not issubclass(TRAINED[name].model, MaskedLMSystem):
        wrong.append("model.start_terms")
    if wrong:
        cure = f"set {wrong[0]}={UNUSED[wrong[0]]}" if wrong[0] in UNUSED else "leave it out"
        raise UsageError(f"recipe: the system {name} has no setting {wrong[0]}; {cure}")
    teacher = recipe.distillation.dense_teacher or any(
        collection.teacher for collection in recipe.training_collections
    )
    if teacher and not TRAINED[name].objective.ranks:
        message = f"recipe: the loss of {name} compares no scores, so it cannot use a teacher"
        raise UsageError(f"{message}; leave out teacher and dense_teacher")


def start_system(recipe: Recipe) -> System:
    """Build the system of a recipe, ready to be trained, on the backbone or from ``init``.

    The word embeddings and the output weights of masked-LM heads are not trained.
    """
    settings = recipe.model
    system = _new_system(recipe) if settings.init is None else _initial_system(recipe)
    _check_length(system, max(settings.max_length, settings.encode_length))
    system.drop(system.left_out)
    for parameter in system.parameters():
        parameter.requires_grad_(True)
    for module in system.modules():
        if isinstance(module, MaskedLMSystem):
            module.decoder.requires_grad_(False)
        if isinstance(module, nn.Dropout):
            module.p = settings.dropout
    for owner, name in system.transformers:
        transformer: Any = getattr(owner, name)
        transformer.get_input_embeddings().weight.requires_grad_(False)
        if settings.adapter_rank:
            adapted = with_adapters(transformer, settings.adapter_rank, settings.adapter_layers)
            setattr(owner, name, adapted)
    return system


def _check_length(system: System, length: int) -> None:
    """Raise `UsageError` if ``length`` is more than the number of positions of the transformer."""
    owner, name = system.transformers[0]
    positions = getattr(owner, name).config.max_position_embeddings
    if length > positions:
        message = f"recipe: max_length or encode_length is {length}, but the backbone has"
        raise UsageError(f"{message} {positions} positions; set both to {positions} or less")


def _new_system(recipe: Recipe) -> System:
    """Build a system with a new head on the backbone, or on an encoder of the SpaDE ``init``."""
    kind, settings = TRAINED[recipe.model.system].model, recipe.model
    if settings.init is None:
        backbone = load_backbone(settings.backbone)
    else:
        backbone = spade_backbone(settings.init, issubclass(kind, MaskedLMSystem))
    system = kind.from_backbone(backbone)
    layers = [module for module in system.modules() if isinstance(module, nn.Linear)]
    if layers and layers[-1].out_features == 1:  # the layer that gives each token a weight
        nn.init.constant_(layers[-1].bias, settings.weighting_bias)
    return system


def _initial_system(recipe: Recipe) -> System:
    """Return the model ``init`` or, if it is a SpaDE model, a new system on one of its encoders."""
    settings = recipe.model
    kind, init = TRAINED[settings.system].model, str(settings.init)
    if recognise(resolve_model(init)) == SPADE:
        return _new_system(recipe)
    encoder = load_encoder(init, fold=False)
    if not isinstance(encoder, SystemEncoder) or not isinstance(encoder.model, kind):
        message = f"recipe: the model init={init} belongs to the system {encoder.system}, but the"
        cure = f"set init to a model of {settings.system} or of SpaDE"
        raise UsageError(f"{message} recipe trains {settings.system}; {cure}")
    return encoder.model


def spade_backbone(name: str, masked_lm: bool) -> Backbone:
    """Return the transformer of an encoder of a SpaDE model, and the tokenizer.

    With ``masked_lm``, this is the transformer of the expansion encoder, with its masked-LM head.
    Without ``masked_lm``, this is the transformer of the weighting encoder.
    """
    model = SpadeModel.from_pretrained(name)
    if not masked_lm:
        return Backbone(copy.deepcopy(model.weighting.backbone), model.wordpieces)
    head = {x: y.clone() for x, y in model.expansion.head.state_dict().items()}
    if model.config.decoder_rank:
        embeddings: Any = model.expansion.backbone.get_input_embeddings()
        with torch.no_grad():
            head["decoder"] = model.expansion.head.decoder(embeddings.weight, slice(None)).clone()
    return Backbone(copy.deepcopy(model.expansion.backbone), model.wordpieces, head)


@torch.no_grad()
def sparsify(system: System, texts: list[str], recipe: Recipe) -> None:
    """Lower the bias of a new masked-LM head such that vectors have about ``start_terms`` terms.

    The bias is lowered by the ``start_terms``-th largest activation of a text, averaged over
    ``texts``. Nothing is changed if the system has no masked-LM head, or if ``init`` is a trained
    model of the system.
    """
    number, init = recipe.model.start_terms, recipe.model.init
    is_new = init is None or recognise(resolve_model(init)) == SPADE
    if not (number and texts and is_new and isinstance(system, MaskedLMSystem)):
        return
    system.eval()
    ids = system.wordpieces.document_ids(texts, recipe.model.max_length)
    system.lower(activation_limit(system.activations, ids, system.kept, number))
    system.normalise(*pad_batch(ids[:SIMILAR], system.kept.device))


def system_optimizer(system: System, recipe: Recipe) -> torch.optim.AdamW:
    """Return the optimizer.

    Systems with a masked-LM head have the learning rates of SpaDE's expansion encoder. All other
    systems have the learning rates of SpaDE's weighting encoder.
    """
    settings = recipe.optimization
    masked_lm = isinstance(system, MaskedLMSystem)
    rate = settings.expansion_rate if masked_lm else settings.weighting_rate
    rates = [settings.expansion_head_rate if masked_lm else None, settings.head_rate, rate]
    head_rate = next(rate for rate in rates if rate is not None)
    bodies = [getattr(owner, name) for owner, name in system.transformers]
    trained = [parameter for parameter in system.parameters() if parameter.requires_grad]
    inside = {id(parameter) for body in bodies for parameter in body.parameters()}
    body = [parameter for parameter in trained if id(parameter) in inside]
    head = [parameter for parameter in trained if id(parameter) not in inside]
    return adamw([(body, rate), (head, head_rate)])
