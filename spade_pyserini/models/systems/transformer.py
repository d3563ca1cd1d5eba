"""Load the transformer of a system, from safetensors files only, and its tokenizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel

from spade_pyserini.errors import ArtifactError, InputError
from spade_pyserini.formats.json_files import read_json_file
from spade_pyserini.models.backbone import empty_backbone
from spade_pyserini.models.hub import SUFFIX, load_hugging_face
from spade_pyserini.models.sizes import check_folder
from spade_pyserini.models.systems.checkpoint import CONFIG, MOST_BYTES, Checkpoint
from spade_pyserini.models.tensor_files import read_tensors
from spade_pyserini.models.wordpieces import WordPieces

EMBEDDINGS = "embeddings.word_embeddings.weight"
MOST_PADDING = 256  # maximum number of padding rows of an embedding matrix, after the vocabulary
LONGEST = 512  # maximum number of WordPieces that are read, see `max_length`


def load_wordpieces(folder: Path, rows: int) -> WordPieces:
    """Load the tokenizer of a model whose embedding matrix has ``rows`` rows."""
    if (folder / "tokenizer.json").is_file():
        wordpieces = WordPieces.load(folder)
    else:
        wordpieces = load_hugging_face("tokenizer", folder, _convert_tokenizer)
        wordpieces.check(folder)
    size = wordpieces.vocabulary_size
    if not size <= rows <= size + MOST_PADDING:
        message = f"the embedding matrix has {rows} rows, but the tokenizer has {size} WordPieces"
        raise InputError(f"{message}; copy or download the model again", folder)
    return wordpieces


def _convert_tokenizer(source: str, options: dict[str, Any]) -> WordPieces:
    """Load a tokenizer that has only a vocab.txt."""
    return WordPieces(AutoTokenizer.from_pretrained(source, use_fast=True).backend_tokenizer)


def max_length(folder: Path, config: Any, stated: int | None = None) -> int:
    """Return how many tokens a model reads.

    stated: the maximum that a file of the model states. If it is None, the tokenizer's maximum is
    used, limited to `LONGEST`. The result is never more than the number of positions of the
    transformer.
    """
    limits = [stated, getattr(config, "max_position_embeddings", None)]
    path = folder / "tokenizer_config.json"
    if stated is None and path.is_file():
        limits.append(read_json_file(path, MOST_BYTES).get("model_max_length"))
    known = [int(limit) for limit in limits if isinstance(limit, int | float) and limit > 2]
    return min([*known, LONGEST] if stated is None else known)


def load_masked_lm(folder: Path) -> PreTrainedModel:
    """Load a masked-LM model with its head; the weights become 32-bit numbers."""
    Checkpoint(folder).files  # noqa: B018 - raises an error if the weights are pickled

    def load(source: str, options: dict[str, Any]) -> tuple[PreTrainedModel, dict[str, Any]]:
        loaded: tuple[PreTrainedModel, dict[str, Any]] = AutoModelForMaskedLM.from_pretrained(
            source, dtype=torch.float32, output_loading_info=True, **options
        )
        return loaded

    model, report = load_hugging_face("model", folder, load)
    refuse_missing(folder, report["missing_keys"])
    check_finite(model, folder)
    model.train(False)
    return model


def load_transformer(checkpoint: Checkpoint) -> tuple[PreTrainedModel, dict[str, Tensor]]:
    """Load the transformer of a checkpoint without its head, such as ``tok_proj.*``.

    Returns the transformer, and all other tensors of the checkpoint by name.
    """
    folder, config = checkpoint.folder, dict(checkpoint.config)
    prefix = next(
        (n.removesuffix(EMBEDDINGS) for n in checkpoint.shapes if n.endswith(EMBEDDINGS)), ""
    )
    checkpoint.require([prefix + EMBEDDINGS])
    if checkpoint.shapes[prefix + EMBEDDINGS][:1] != [config.get("vocab_size")]:
        message = f"vocab_size is {config.get('vocab_size')}, but the embedding matrix has"
        rows = checkpoint.shapes[prefix + EMBEDDINGS][0]
        cure = "copy or download the model again"
        raise InputError(f"{message} {rows} rows; {cure}", folder / CONFIG)
    check_folder(folder, SUFFIX)
    try:
        transformer = empty_backbone(config, checkpoint.size)
    except Exception as error:  # transformers raises exceptions of many kinds
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        message = f"no transformer can be built from this configuration ({reason})"
        raise InputError(f"{message}; copy or download the model again", folder / CONFIG) from None
    checkpoint.require([prefix + name for name in transformer.state_dict()])
    tensors = {name: x for path in checkpoint.files for name, x in read_tensors(path).items()}
    own = {name: tensors.pop(prefix + name) for name in transformer.state_dict()}
    try:
        transformer.load_state_dict(own)
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1].strip()
        message = f"{folder}: the weights do not fit config.json ({reason})"
        raise ArtifactError(f"{message}; copy or download the model again") from None
    check_finite(transformer, folder)
    transformer.train(False)
    return transformer, tensors


def bert_tensors(transformer: nn.Module, heads: dict[str, nn.Module]) -> dict[str, Tensor]:
    """Return the tensors of a transformer, as ``bert.*``, and of heads, as ``NAME.*``."""
    parts = {"bert": transformer, **heads}
    return {f"{x}.{name}": y for x, part in parts.items() for name, y in part.state_dict().items()}


def new_linear(inputs: int, outputs: int) -> nn.Linear:
    """Build a layer with random weights from N(0, 0.02²) and a bias of zeros."""
    layer = nn.Linear(inputs, outputs)
    nn.init.normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)
    return layer


def linear(tensors: dict[str, Tensor], name: str, folder: Path) -> nn.Linear:
    """Build a linear layer from the tensors ``NAME.weight`` and ``NAME.bias``."""
    refuse_missing(folder, {f"{name}.weight", f"{name}.bias"} - tensors.keys())
    weight, bias = tensors[f"{name}.weight"], tensors[f"{name}.bias"]
    layer = nn.Linear(weight.shape[1], weight.shape[0])
    layer.load_state_dict({"weight": weight, "bias": bias})
    check_finite(layer, folder)
    return layer


def refuse_missing(folder: Path, missing: Any) -> None:
    """Raise `ArtifactError` if tensors of a model are missing."""
    if names := sorted(missing):
        shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        message = f"{folder}: the weights lack {len(names)} tensors ({shown})"
        raise ArtifactError(f"{message}; copy or download the model again")


def check_finite(module: nn.Module, folder: Path) -> None:
    """Raise `ArtifactError` if a weight is NaN or infinite."""
    for name, tensor in module.state_dict().items():
        if not torch.isfinite(tensor).all():
            raise ArtifactError(
                f"{folder}: {name} contains NaN or infinite weights; use another model"
            )
