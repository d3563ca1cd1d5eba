"""The transformer of a system: weights from safetensors files only, and the tokenizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForMaskedLM, AutoTokenizer, PreTrainedModel

from spade_pyserini.errors import ArtifactError, InputError
from spade_pyserini.formats.json_files import read_json_file
from spade_pyserini.models.backbone import empty_backbone
from spade_pyserini.models.hub import load_hugging_face
from spade_pyserini.models.systems.checkpoint import CONFIG, MOST_BYTES, Checkpoint
from spade_pyserini.models.tensor_files import read_tensors
from spade_pyserini.models.wordpieces import WordPieces

EMBEDDINGS = "embeddings.word_embeddings.weight"
MOST_PADDING = 256  # rows of an embedding matrix beyond the vocabulary, to reach a round number
LONGEST = 512  # WordPieces that models without a stated maximum length read


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
        raise InputError(f"{message}; they do not belong together", folder)
    return wordpieces


def _convert_tokenizer(source: str, options: dict[str, Any]) -> WordPieces:
    """Load a tokenizer that has only a vocab.txt."""
    return WordPieces(AutoTokenizer.from_pretrained(source, use_fast=True).backend_tokenizer)


def max_length(folder: Path, config: Any, stated: int | None = None) -> int:
    """Return how many tokens a model reads.

    That is ``stated`` if it is given, otherwise the tokenizer's maximum, at most `LONGEST`. It is
    never more than the number of positions of the transformer.
    """
    limits = [stated, getattr(config, "max_position_embeddings", None)]
    path = folder / "tokenizer_config.json"
    if stated is None and path.is_file():
        limits.append(read_json_file(path, MOST_BYTES).get("model_max_length"))
    known = [int(limit) for limit in limits if isinstance(limit, int | float) and limit > 2]
    return min([*known, LONGEST] if stated is None else known)


def load_masked_lm(folder: Path) -> PreTrainedModel:
    """Load a masked-LM model with its head, in 32 bits."""
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
        raise InputError(f"{message} {rows} rows; they do not belong together", folder / CONFIG)
    try:
        transformer = empty_backbone(config)
    except Exception as error:  # transformers raises exceptions of many kinds
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        message = f"no transformer can be built from this configuration ({reason})"
        raise InputError(message, folder / CONFIG) from None
    checkpoint.require([prefix + name for name in transformer.state_dict()])
    tensors = {name: x for path in checkpoint.files for name, x in read_tensors(path).items()}
    own = {name: tensors.pop(prefix + name) for name in transformer.state_dict()}
    try:
        transformer.load_state_dict(own)
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1].strip()
        raise ArtifactError(f"{folder}: the weights do not fit config.json ({reason})") from None
    check_finite(transformer, folder)
    transformer.train(False)
    return transformer, tensors


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
            raise ArtifactError(f"{folder}: {name} contains NaN or infinite weights")
