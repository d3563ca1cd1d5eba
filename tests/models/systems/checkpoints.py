"""Small checkpoints with the files and tensors of published models, saved by the same libraries."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForTokenClassification,
    BertModel,
    BertPreTrainedModel,
    PreTrainedModel,
)

TEXTS = ["the old cat sleeps in the house", "delete the folder, delete it.", "river", "a xyz dog"]


def copy_tokenizer(backbone: Path, folder: Path) -> Path:
    """Copy the tokenizer of the tiny backbone."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in backbone.glob("token*"):
        shutil.copy(path, folder)
    return folder


def config_of(backbone: Path, **changes: Any) -> BertConfig:
    """Return the configuration of the tiny backbone, with changes."""
    config: BertConfig = BertConfig.from_pretrained(backbone)
    for name, value in changes.items():
        setattr(config, name, value)
    return config


def save(model: PreTrainedModel, backbone: Path, folder: Path) -> Path:
    """Save a model with ``save_pretrained`` of transformers, and the tokenizer."""
    model.save_pretrained(copy_tokenizer(backbone, folder))
    return folder


def masked_lm(backbone: Path, folder: Path, seed: int = 1, **changes: Any) -> Path:
    """Save a masked-LM checkpoint, the format of the first SPLADE models."""
    torch.manual_seed(seed)
    model = BertForMaskedLM(config_of(backbone, **changes))  # type: ignore[no-untyped-call]
    with torch.no_grad():
        model.cls.predictions.bias.normal_(std=0.5)
    return save(model, backbone, folder)


def sparse_encoder(folder: Path, transformer: Path, **pooling: Any) -> Path:
    """Save a ``SparseEncoder`` with one model for documents and queries."""
    from sentence_transformers import SparseEncoder
    from sentence_transformers.sparse_encoder.modules import SpladePooling, Transformer

    modules = [
        Transformer(str(transformer), transformer_task="fill-mask"),
        SpladePooling(**pooling),
    ]
    SparseEncoder(modules=modules, device="cpu").save_pretrained(str(folder))
    return folder


def routed_encoder(
    folder: Path, transformer: Path, weights: Tensor, prompts: dict[str, str] | None = None
) -> Path:
    """Save a ``SparseEncoder`` with a table of query term weights, as OpenSearch publishes it."""
    from sentence_transformers import SparseEncoder
    from sentence_transformers.sparse_encoder.modules import (
        Router,
        SparseStaticEmbedding,
        SpladePooling,
        Transformer,
    )

    documents = Transformer(str(transformer), transformer_task="fill-mask")
    queries = SparseStaticEmbedding(documents.tokenizer, weights, frozen=True)
    pooling = SpladePooling("max", activation_function="log1p_relu")
    router = Router.for_query_document([queries], [documents, pooling])
    model = SparseEncoder(modules=[router], prompts=prompts, device="cpu")
    model.save_pretrained(str(folder))
    return folder


class TILDEv2(BertPreTrainedModel):
    """TILDEv2 with the tensor names of its authors, which are also those of uniCOIL."""

    def __init__(self, config: BertConfig, rows: int = 1) -> None:
        super().__init__(config)  # type: ignore[no-untyped-call]
        self.bert = BertModel(config)  # type: ignore[no-untyped-call]
        self.tok_proj = nn.Linear(config.hidden_size, rows)
        self.post_init()  # type: ignore[no-untyped-call]


class DeepImpact(BertPreTrainedModel):
    """DeepImpact with the tensor names of its authors."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)  # type: ignore[no-untyped-call]
        self.bert = BertModel(config)  # type: ignore[no-untyped-call]
        width = config.hidden_size
        self.impact_score_encoder = nn.Sequential(
            nn.Linear(width, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 1), nn.ReLU()
        )
        self.post_init()  # type: ignore[no-untyped-call]


def token_weights(backbone: Path, folder: Path, rows: int = 1, name: str = "TILDEv2") -> Path:
    """Save a checkpoint with ``tok_proj``: TILDEv2, uniCOIL or, with more than one row, COIL."""
    torch.manual_seed(2)
    model = TILDEv2(config_of(backbone), rows)
    nn.init.normal_(model.tok_proj.weight, std=0.5)
    nn.init.constant_(model.tok_proj.bias, 1.0)
    save(model, backbone, folder)
    path = folder / "config.json"
    path.write_text(path.read_text().replace('"TILDEv2"', f'"{name}"'))
    return folder


def deep_impact(backbone: Path, folder: Path) -> Path:
    """Save a DeepImpact checkpoint, whose head has two layers."""
    torch.manual_seed(3)
    model = DeepImpact(config_of(backbone))
    for layer in (model.impact_score_encoder[0], model.impact_score_encoder[3]):
        assert isinstance(layer, nn.Linear)
        nn.init.normal_(layer.weight, std=0.1)
        nn.init.constant_(layer.bias, 2.0)
    return save(model, backbone, folder)


def deepct(backbone: Path, folder: Path, labels: int = 1) -> Path:
    """Save a DeepCT checkpoint: a token classifier of transformers with one label."""
    torch.manual_seed(4)
    config = config_of(backbone)
    config.num_labels = labels
    model = BertForTokenClassification(config)  # type: ignore[no-untyped-call]
    nn.init.normal_(model.classifier.weight, std=0.3)
    nn.init.constant_(model.classifier.bias, 0.5)
    return save(model, backbone, folder)
