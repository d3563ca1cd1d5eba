"""Adapters in the last layers only: the first layers are computed once for both encoders."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeConfig, SpadeModel
from tests.conftest import with_random_adapters
from tests.models.helpers import components


@pytest.fixture
def folder(tiny_backbone: Path, tmp_path: Path) -> Path:
    """The folder of a model with two layers; only the second layer differs between the encoders."""
    config = SpadeConfig(k=3, max_length=32, scale=40.0, adapter_rank=4, adapter_layers=1)
    model = with_random_adapters(SpadeModel.from_backbone(tiny_backbone, config))
    model.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_only_the_last_layers_have_adapters(folder: Path) -> None:
    model = SpadeModel.from_pretrained(folder, merge=False)
    names = [name for name in model.state_dict() if "lora_" in name]
    assert names
    assert all(".layer.1." in name for name in names)


def test_the_same_vectors_with_fewer_layers_computed(folder: Path) -> None:
    separate = SpadeModel.from_pretrained(folder, merge=False)
    merged = SpadeModel.from_pretrained(folder)
    calls: list[str] = []
    for encoder in ("weighting", "expansion"):
        for number, layer in enumerate(getattr(merged, encoder).backbone.encoder.layer):
            name = f"{encoder} {number}"
            layer.register_forward_hook(lambda *_, name=name: calls.append(name))
    for vectors, expected in zip(components(merged), components(separate), strict=True):
        assert torch.allclose(vectors, expected, atol=1e-4)
    assert calls == ["weighting 0", "weighting 1", "expansion 1"]


def test_a_merged_model_is_saved_with_all_layers(folder: Path, tmp_path: Path) -> None:
    merged = SpadeModel.from_pretrained(folder)
    merged.adapters = None  # otherwise `save_pretrained` writes the adapters instead of the weights
    merged.save_pretrained(tmp_path / "merged")
    loaded = SpadeModel.from_pretrained(tmp_path / "merged")
    assert merged.shared_layers is not None and loaded.shared_layers is None
    for vectors, expected in zip(components(loaded), components(merged), strict=True):
        assert torch.allclose(vectors, expected, atol=1e-5)
