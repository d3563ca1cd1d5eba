"""Low-rank adapters: nothing at first, megabytes when kept, merged when used."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from spade_pyserini import SpadeConfig, SpadeModel
from spade_pyserini.errors import ArtifactError, UsageError
from spade_pyserini.train import Recipe, train
from tests.conftest import with_lively_adapters

TEXTS = ["the old cat sleeps in the house", "a dog eats the fish"]


@pytest.fixture
def adapted(tiny_backbone: Path) -> SpadeModel:
    """A model whose adapters do something, and something else in each encoder."""
    config = SpadeConfig(k=3, max_length=32, scale=40.0, adapter_rank=4)
    return with_lively_adapters(SpadeModel.from_backbone(tiny_backbone, config))


def weigh(model: SpadeModel) -> torch.Tensor:
    return model.weigh(model.wordpieces.document_ids(TEXTS, 32))


def test_fresh_adapters_change_nothing(tiny_backbone: Path) -> None:
    plain = SpadeModel.from_backbone(tiny_backbone, SpadeConfig(k=3))
    fresh = SpadeModel.from_backbone(tiny_backbone, SpadeConfig(k=3, adapter_rank=4))
    assert torch.allclose(weigh(plain), weigh(fresh), atol=1e-6)


def test_both_encoders_stand_on_one_frozen_backbone(adapted: SpadeModel) -> None:
    first, second = (
        encoder.backbone.get_input_embeddings().get_parameter("weight")
        for encoder in (adapted.weighting, adapted.expansion)
    )
    assert first.data_ptr() == second.data_ptr()
    for name, parameter in adapted.named_parameters():
        frozen = ".backbone." in name and "lora_" not in name
        assert parameter.requires_grad is not (frozen or name == "query_weights"), name


def test_kept_without_the_backbone_and_merged_when_loaded(
    adapted: SpadeModel, tmp_path: Path
) -> None:
    adapted.save_pretrained(tmp_path)
    names = load_file(tmp_path / "model.safetensors")
    assert not any(".backbone." in name and "lora_" not in name for name in names)
    merged = SpadeModel.from_pretrained(tmp_path)
    assert not any("lora_" in name for name in merged.state_dict())
    assert torch.allclose(weigh(merged), weigh(adapted), atol=1e-4)
    assert not torch.allclose(merged.weighting(*_zero(merged)), weigh(merged))
    again = SpadeModel.from_pretrained(tmp_path, merge=False)
    assert again.fingerprint == adapted.fingerprint
    merged.save_pretrained(tmp_path / "whole")
    whole = SpadeModel.from_pretrained(tmp_path / "whole")
    assert torch.equal(weigh(whole), weigh(merged))


def test_half_the_size(adapted: SpadeModel, tmp_path: Path) -> None:
    adapted.save_pretrained(tmp_path / "whole")
    adapted.save_pretrained(tmp_path / "half", half=True)
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("whole", "half")]
    assert sizes[1] < 0.65 * sizes[0]
    rounded = SpadeModel.from_pretrained(tmp_path / "half")
    assert all(one.dtype != torch.float16 for one in rounded.state_dict().values())
    assert torch.allclose(weigh(rounded), weigh(adapted), rtol=0.05, atol=0.02)


def _zero(model: SpadeModel) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.zeros(2, 3, 32), torch.full((2, 3), 10), torch.ones(2, 3)


def test_another_backbone_under_the_same_name(tiny_backbone: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_backbone, tmp_path / "backbone")
    model = SpadeModel.from_backbone(tmp_path / "backbone", SpadeConfig(adapter_rank=2))
    model.save_pretrained(tmp_path / "model")
    other = model.weighting.backbone.get_input_embeddings().get_parameter("weight")
    tensors = load_file(tmp_path / "backbone" / "model.safetensors")
    key = next(name for name in tensors if tensors[name].shape == other.shape)
    tensors[key] += 1
    save_file(tensors, tmp_path / "backbone" / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ArtifactError, match=r"trained on another .* than the one here"):
        SpadeModel.from_pretrained(tmp_path / "model")


def test_weights_of_another_rank_are_refused(adapted: SpadeModel, tmp_path: Path) -> None:
    adapted.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"adapter_rank": 3}))
    with pytest.raises(ArtifactError, match="not the weights of this model"):
        SpadeModel.from_pretrained(tmp_path)


def test_training_adapters_and_going_on_from_a_model(recipe: Recipe, tmp_path: Path) -> None:
    first = recipe.change(adapter_rank=2, steps=4)
    best = train(first, tmp_path / "one")
    kept = load_file(best / "model.safetensors")
    assert sum(tensor.numel() for tensor in kept.values()) < 25_000
    again = train(first.change(init=str(best), seed=5), tmp_path / "two")
    assert SpadeModel.from_pretrained(again).fingerprint != (
        SpadeModel.from_pretrained(best).fingerprint
    )
    with pytest.raises(UsageError, match="adapter_rank is 0, but 2 in"):
        train(recipe.change(init=str(best)), tmp_path / "three")
