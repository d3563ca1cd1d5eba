"""Build, load and save models.

::

    my-model/config.json          settings, see `SpadeConfig`
    my-model/model.safetensors    weights
    my-model/tokenizer.json       WordPieces
    my-model/README.md            the card, see `spade_pyserini.models.card`
    my-model/digests.json         digests of the first three files; older models have none
"""

from __future__ import annotations

import copy
from dataclasses import asdict, replace
from pathlib import Path
from typing import TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_model as load_safetensors
from torch import Tensor
from transformers import PreTrainedModel

from spade_pyserini.errors import ArtifactError, InputError
from spade_pyserini.models.adapters import (
    is_frozen,
    merge_adapters,
    still_merged,
    with_adapters,
)
from spade_pyserini.models.backbone import Backbone, empty_backbone, load_backbone
from spade_pyserini.models.card import write_card
from spade_pyserini.models.config import SpadeConfig
from spade_pyserini.models.digests import check_digests, forget_digests, write_digests
from spade_pyserini.models.dual_encoder import Adapters, DualEncoder
from spade_pyserini.models.expansion import TermExpansionEncoder
from spade_pyserini.models.fingerprint import weights_fingerprint
from spade_pyserini.models.hub import FILES, UNTRAINED, WEIGHTS, resolve_model
from spade_pyserini.models.minilm import MINILM
from spade_pyserini.models.sizes import MORE, check_sizes
from spade_pyserini.models.tensor_files import write_tensors
from spade_pyserini.models.weighting import TermWeightingEncoder
from spade_pyserini.models.wordpieces import WordPieces

Model = TypeVar("Model", bound=DualEncoder)


def build_model(
    kind: type[Model], name: str | Path, config: SpadeConfig | None = None, seed: int = 0
) -> Model:
    """Build a model with untrained heads on the pre-trained transformer ``name``.

    The masked-LM head is taken from the transformer's files if they contain one. Without a
    ``config``, both encoders use the same transformer.
    """
    backbone = load_backbone(name)
    settings = config or SpadeConfig(shared_backbone=True)
    settings = replace(settings, backbone=backbone.transformer.config.to_diff_dict())
    if settings.adapter_rank:
        fingerprint = weights_fingerprint(backbone.transformer)
        settings = replace(settings, base=str(name), base_fingerprint=fingerprint)
    with torch.random.fork_rng(devices=[]):
        model = _assemble(kind, settings, backbone)
        # Creating adapters uses random numbers, so the seed of the heads is set after that.
        torch.manual_seed(seed)
        model.weighting.initialise()
        model.expansion.initialise()
        if backbone.head is not None:
            model.expansion.head.load_state_dict(backbone.head, strict=False)
    return model.eval()


def _assemble(kind: type[Model], config: SpadeConfig, backbone: Backbone) -> Model:
    """Build both encoders on one transformer, on two copies, or on copies with adapters."""
    first = second = backbone.transformer
    if not config.shared_backbone:
        second = empty_backbone(config.backbone or {})
        frozen = config.adapter_rank > 0  # both encoders can share frozen tensors
        second.load_state_dict(first.state_dict(), assign=frozen)
    if config.adapter_rank:
        rank, layers = config.adapter_rank, config.adapter_layers
        first, second = (with_adapters(copy, rank, layers) for copy in (first, second))
    weighting = TermWeightingEncoder(first)
    expansion = TermExpansionEncoder(second, config.decoder_rank)
    return kind(config, weighting, expansion, backbone.wordpieces)


def load_model(kind: type[Model], name: str | Path, *, merge: bool = True) -> Model:
    """Load a model by its folder, its Hugging Face name, or the name of a shipped model.

    ``merge`` adds adapters to the weights, see `merge_adapters`.
    """
    if name == UNTRAINED:
        return build_model(kind, MINILM)
    folder = resolve_model(name)
    config = SpadeConfig.load(folder)
    check_digests(folder, WEIGHTS)
    size = _check_size(config, folder / WEIGHTS)
    wordpieces = WordPieces.load(folder)
    try:
        config.check_length()
        if config.adapter_rank:
            transformer = _load_base(config, folder)
        else:
            transformer = empty_backbone(config.backbone or {}, size or None)
        model = _assemble(kind, config, Backbone(transformer, wordpieces))
    except ArtifactError:
        raise
    except Exception as error:  # transformers raises exceptions of many kinds
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        message = f"no model can be built from this configuration ({reason})"
        raise InputError(message, folder / "config.json") from None
    _load_weights(model, folder / WEIGHTS)
    loaded = (merge_adapters(model) if merge else model).eval()
    loaded.origin = str(name)
    _try_to_encode(loaded, folder / "config.json")
    return loaded


@torch.no_grad()
def _try_to_encode(model: DualEncoder, path: Path) -> None:
    """Raise `InputError` if a model was built, but cannot encode with its settings."""
    try:
        for length in (2, 3):
            ids = torch.zeros(1, length, dtype=torch.long)
            model(ids, torch.ones_like(ids))
    except Exception as error:  # transformers raises exceptions of many kinds
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        message = f"the model cannot encode with this configuration ({reason})"
        raise InputError(message, path) from None


def _check_size(config: SpadeConfig, path: Path) -> int:
    """Return the size in bytes of ``path``, the file with the weights; 0 if it is missing.

    Raises `InputError` if the configuration needs more weights than the file can contain.
    """
    if not path.is_file():
        return 0  # `_load_weights` reports the missing file
    size, settings = path.stat().st_size, config.backbone or {}
    check_sizes(asdict(config), size, path.with_name("config.json"))
    rows = settings.get("vocab_size", 0)
    if isinstance(rows, int) and config.decoder_rank * rows > size:
        raise InputError(f"decoder_rank needs {MORE}", path.with_name("config.json"))
    return size


def _load_base(config: SpadeConfig, folder: Path) -> PreTrainedModel:
    """Load the frozen transformer that the adapters of a model were trained on."""
    transformer = load_backbone(config.base or "").transformer
    if weights_fingerprint(transformer) != config.base_fingerprint:
        raise ArtifactError(
            f"{folder}: the adapters were trained on another version of {config.base!r} than the "
            "version on this machine: the weights differ; install the version that the adapters "
            "were trained on, or train again"
        )
    return transformer


def _load_weights(model: DualEncoder, path: Path) -> None:
    """Load the weights of a model in place and check them."""
    adapters = model.config.adapter_rank > 0
    try:
        absent, unexpected = load_safetensors(model, path, strict=not adapters)
    except (SafetensorError, RuntimeError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ArtifactError(
            f"{path}: these are not the weights of this model ({reason}); copy or download the "
            "model again"
        ) from None
    missing = [name for name in absent if not is_frozen(name)]
    if missing or unexpected:
        names = ", ".join(sorted([*missing, *unexpected])[:5])
        message = f"these are not the weights of this model (missing or unexpected: {names})"
        raise ArtifactError(f"{path}: {message}; copy or download the model again")
    for name, tensor in model.state_dict().items():
        if not torch.isfinite(tensor).all():
            raise ArtifactError(
                f"{path}: {name} contains NaN or infinite weights; use another model"
            )


def save_model(model: DualEncoder, folder: Path, *, half: bool = False) -> None:
    """Write the settings, weights, tokenizer, digests and card of a model to ``folder``.

    The frozen transformer of a model with adapters is not written, because ``config.base`` names
    it. If the adapters were merged into a model and its transformers have not changed since, the
    adapters are written instead of the transformers. ``half`` stores all weights in 16 bits. In a
    model with adapters, tensors are always stored in 16 bits if that changes none of their values.
    """
    folder.mkdir(parents=True, exist_ok=True)
    forget_digests(folder)
    tensors, config = _tensors(model, half)
    write_tensors(folder / WEIGHTS, tensors)
    model.wordpieces.save(folder / "tokenizer.json")
    config.save(folder)
    write_card(folder, config, model.origin)
    write_digests(folder, FILES)


def _tensors(model: DualEncoder, half: bool) -> tuple[dict[str, Tensor] | DualEncoder, SpadeConfig]:
    """Return the weights and the settings to write.

    The weights are given as tensors by name, or as a model if all its tensors are to be written.
    """
    state = model.state_dict()
    if model.config.adapter_rank:
        trained = {name: x for name, x in state.items() if not is_frozen(name)}
        return _small(trained, half), model.config
    if model.adapters is not None and still_merged(model, _base(model.adapters)):
        trained = {name: x for name, x in state.items() if ".backbone." not in name}
        config = replace(model.config, **model.adapters.settings)
        return _small({**trained, **model.adapters.tensors}, half), config
    return (copy.deepcopy(model).half() if half else model), model.config


def _base(adapters: Adapters) -> PreTrainedModel:
    """Load the transformer that adapters were trained on."""
    return load_backbone(adapters.settings["base"]).transformer


def _small(tensors: dict[str, Tensor], half: bool) -> dict[str, Tensor]:
    """Convert floating-point tensors to 16 bits.

    With ``half``, all of them are converted. Without ``half``, a tensor is converted only if it
    loses no precision.
    """
    return {
        name: x.half() if x.is_floating_point() and (half or _is_half(x)) else x
        for name, x in tensors.items()
    }


def _is_half(tensor: Tensor) -> bool:
    """Return whether 16 bits hold all values of a tensor exactly."""
    return torch.equal(tensor.half().to(tensor.dtype), tensor)
