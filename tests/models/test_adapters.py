"""Low-rank adapters: no effect when new, a small file when saved, merged when loaded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from spade_pyserini import SpadeConfig, SpadeModel
from spade_pyserini.errors import ArtifactError
from spade_pyserini.models.adapters import merge_adapters
from tests.conftest import with_random_adapters
from tests.models.helpers import weigh


@pytest.fixture
def adapted(tiny_backbone: Path) -> SpadeModel:
    """A model with random adapters, which differ between the two encoders."""
    config = SpadeConfig(k=3, max_length=32, scale=40.0, adapter_rank=4)
    return with_random_adapters(SpadeModel.from_backbone(tiny_backbone, config))


def test_new_adapters_change_nothing(tiny_backbone: Path) -> None:
    plain = SpadeModel.from_backbone(tiny_backbone, SpadeConfig(k=3))
    fresh = SpadeModel.from_backbone(tiny_backbone, SpadeConfig(k=3, adapter_rank=4))
    assert torch.allclose(weigh(plain), weigh(fresh), atol=1e-6)


def test_both_encoders_share_one_frozen_backbone(adapted: SpadeModel) -> None:
    first, second = (
        encoder.backbone.get_input_embeddings().get_parameter("weight")
        for encoder in (adapted.weighting, adapted.expansion)
    )
    assert first.data_ptr() == second.data_ptr()
    for name, parameter in adapted.named_parameters():
        frozen = ".backbone." in name and "lora_" not in name
        assert parameter.requires_grad is not (frozen or name == "query_weights"), name


def test_merging_leaves_the_model_with_adapters_alone(adapted: SpadeModel) -> None:
    before, fingerprint = weigh(adapted), adapted.fingerprint
    merged = merge_adapters(adapted)
    assert torch.allclose(weigh(merged), before, atol=1e-4)
    assert not any("lora_" in name for name in merged.state_dict())
    assert (merged.config.adapter_rank, merged.config.base) == (0, None)
    assert adapted.fingerprint == fingerprint and adapted.config.adapter_rank == 4
    assert torch.equal(weigh(adapted), before)
    assert merge_adapters(merged) is merged  # there is nothing left to merge


def test_saved_without_the_backbone_and_merged_when_loaded(
    adapted: SpadeModel, tmp_path: Path
) -> None:
    adapted.save_pretrained(tmp_path)
    names = load_file(tmp_path / "model.safetensors")
    assert not any(".backbone." in name and "lora_" not in name for name in names)
    merged = SpadeModel.from_pretrained(tmp_path)
    assert not any("lora_" in name for name in merged.state_dict())
    assert torch.allclose(weigh(merged), weigh(adapted), atol=1e-4)
    again = SpadeModel.from_pretrained(tmp_path, merge=False)
    assert again.fingerprint == adapted.fingerprint
    merged.save_pretrained(tmp_path / "merged")
    loaded = SpadeModel.from_pretrained(tmp_path / "merged")
    assert torch.equal(weigh(loaded), weigh(merged))


def test_half_the_size(adapted: SpadeModel, tmp_path: Path) -> None:
    adapted.save_pretrained(tmp_path / "full")
    adapted.save_pretrained(tmp_path / "half", half=True)
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("full", "half")]
    assert sizes[1] < 0.65 * sizes[0]
    rounded = SpadeModel.from_pretrained(tmp_path / "half")
    assert all(tensor.dtype != torch.float16 for tensor in rounded.state_dict().values())
    assert torch.allclose(weigh(rounded), weigh(adapted), rtol=0.05, atol=0.02)


def test_another_backbone_under_the_same_name(tiny_backbone: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_backbone, tmp_path / "backbone")
    model = SpadeModel.from_backbone(tmp_path / "backbone", SpadeConfig(adapter_rank=2))
    model.with_settings(max_length=32).save_pretrained(tmp_path / "model")
    embeddings = model.weighting.backbone.get_input_embeddings().get_parameter("weight")
    tensors = load_file(tmp_path / "backbone" / "model.safetensors")
    key = next(name for name in tensors if tensors[name].shape == embeddings.shape)
    tensors[key] += 1
    save_file(tensors, tmp_path / "backbone" / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ArtifactError, match=r"trained on another version of .*the weights differ"):
        SpadeModel.from_pretrained(tmp_path / "model")


def test_weights_of_another_rank_are_refused(adapted: SpadeModel, tmp_path: Path) -> None:
    adapted.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"adapter_rank": 3}))
    with pytest.raises(ArtifactError, match="not the weights of this model"):
        SpadeModel.from_pretrained(tmp_path)


def test_weights_without_a_tensor_are_refused(adapted: SpadeModel, tmp_path: Path) -> None:
    adapted.save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    del tensors["weighting.head.1.weight"]
    save_file(tensors, tmp_path / "model.safetensors")
    (tmp_path / "digests.json").unlink()
    with pytest.raises(ArtifactError, match=r"not the weights.*weighting\.head\.1\.weight"):
        SpadeModel.from_pretrained(tmp_path)


def test_a_loaded_model_is_saved_as_small_as_it_was(adapted: SpadeModel, tmp_path: Path) -> None:
    adapted.save_pretrained(tmp_path / "first", half=True)
    loaded = SpadeModel.from_pretrained(tmp_path / "first")
    loaded.with_settings(alpha=0.25).save_pretrained(tmp_path / "again")
    first, again = (load_file(tmp_path / name / "model.safetensors") for name in ("first", "again"))
    assert first.keys() == again.keys()
    assert all(torch.equal(first[name], again[name]) for name in first)
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("first", "again")]
    assert sizes[0] == sizes[1]
    reloaded = SpadeModel.from_pretrained(tmp_path / "again")
    assert reloaded.config.alpha == 0.25
    assert torch.equal(weigh(reloaded.with_settings(alpha=0.5)), weigh(loaded))


def test_trained_weights_of_a_merged_model_are_saved(adapted: SpadeModel, tmp_path: Path) -> None:
    adapted.save_pretrained(tmp_path / "first", half=True)
    loaded = SpadeModel.from_pretrained(tmp_path / "first")
    with torch.no_grad():
        next(loaded.weighting.backbone.parameters()).add_(0.1)
    loaded.save_pretrained(tmp_path / "full")
    assert torch.equal(weigh(SpadeModel.from_pretrained(tmp_path / "full")), weigh(loaded))
    loaded.save_pretrained(tmp_path / "half", half=True)
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("full", "half")]
    assert sizes[1] < 0.6 * sizes[0]
    half = SpadeModel.from_pretrained(tmp_path / "half")
    assert torch.allclose(weigh(half), weigh(loaded), atol=0.05)
