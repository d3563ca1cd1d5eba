"""Adapters in the last layers only: the first ones are computed once for both encoders."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from spade_pyserini import SpadeConfig, SpadeModel
from spade_pyserini.errors import UsageError
from tests.conftest import with_lively_adapters

TEXTS = ["the old cat sleeps in the house", "a dog eats the fish", "red"]


@pytest.fixture
def folder(tiny_backbone: Path, tmp_path: Path) -> Path:
    """A model whose second of two layers differs between the encoders."""
    config = SpadeConfig(k=3, max_length=32, scale=40.0, adapter_rank=4, adapter_layers=1)
    model = with_lively_adapters(SpadeModel.from_backbone(tiny_backbone, config))
    model.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def weigh(model: SpadeModel) -> tuple[Tensor, Tensor]:
    return model.components(model.wordpieces.document_ids(TEXTS, 32))


def test_only_the_last_layers_have_adapters(folder: Path) -> None:
    model = SpadeModel.from_pretrained(folder, merge=False)
    names = [name for name in model.state_dict() if "lora_" in name]
    assert names
    assert all(".layer.1." in name for name in names)


def test_the_same_vectors_with_half_of_the_work(folder: Path) -> None:
    apart = SpadeModel.from_pretrained(folder, merge=False)
    together = SpadeModel.from_pretrained(folder)
    calls: list[str] = []
    for encoder in ("weighting", "expansion"):
        for number, layer in enumerate(getattr(together, encoder).backbone.encoder.layer):
            name = f"{encoder} {number}"
            layer.register_forward_hook(lambda *_, name=name: calls.append(name))
    for one, two in zip(weigh(apart), weigh(together), strict=True):
        assert torch.allclose(one, two, atol=1e-4)
    assert calls == ["weighting 0", "weighting 1", "expansion 1"]


def test_a_merged_model_is_kept_whole(folder: Path, tmp_path: Path) -> None:
    merged = SpadeModel.from_pretrained(folder)
    merged.save_pretrained(tmp_path / "whole")
    whole = SpadeModel.from_pretrained(tmp_path / "whole")
    for one, two in zip(weigh(merged), weigh(whole), strict=True):
        assert torch.allclose(one, two, atol=1e-5)


def test_more_layers_than_there_are(tiny_backbone: Path) -> None:
    with pytest.raises(UsageError, match="adapter_layers is from 0 to 2, not 3"):
        SpadeModel.from_backbone(tiny_backbone, SpadeConfig(adapter_rank=2, adapter_layers=3))
