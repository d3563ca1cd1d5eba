from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from spade_pyserini import SpadeConfig, SpadeModel
from spade_pyserini.errors import ArtifactError, InputError, NotFoundError
from tests.models.helpers import TEXTS


@pytest.mark.parametrize("shared", [True, False])
def test_saving_and_loading_keeps_everything(
    tiny_backbone: Path, tmp_path: Path, shared: bool
) -> None:
    config = SpadeConfig(k=2, alpha=0.3, scale=12.5, max_length=16, shared_backbone=shared)
    model = SpadeModel.from_backbone(tiny_backbone, config)
    model.kept[20] = False
    model.save_pretrained(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    files = {"config.json", "digests.json", "model.safetensors", "tokenizer.json"}
    assert names == files | {"README.md"}
    loaded = SpadeModel.from_pretrained(tmp_path)
    assert loaded.fingerprint == model.fingerprint
    assert loaded.encode(TEXTS) == model.encode(TEXTS)


def test_a_saturated_model_is_saved_as_such(tiny_model: SpadeModel, tmp_path: Path) -> None:
    model = tiny_model.with_settings(saturate=True)
    model.save_pretrained(tmp_path)
    loaded = SpadeModel.from_pretrained(tmp_path)
    assert loaded.encode(TEXTS) == model.encode(TEXTS) != tiny_model.encode(TEXTS)


def test_two_transformers_have_equal_weights_in_different_memory(tiny_model: SpadeModel) -> None:
    first, second = tiny_model.weighting.backbone, tiny_model.expansion.backbone
    assert first is not second
    for parameter, copied in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(parameter, copied)
        assert parameter.data_ptr() != copied.data_ptr()


def test_new_heads_follow_the_seed(tiny_backbone: Path) -> None:
    prints = [SpadeModel.from_backbone(tiny_backbone, seed=seed).fingerprint for seed in (1, 1, 2)]
    assert prints[0] == prints[1] != prints[2]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(
    tiny_model_folder: Path, tmp_path: Path, value: float
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny_model_folder, folder)
    (folder / "digests.json").unlink()
    tensors = load_file(folder / "model.safetensors")
    tensors["weighting.head.3.bias"][0] = value
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(ArtifactError, match=r"weighting\.head\.3\.bias contains NaN or infinite"):
        SpadeModel.from_pretrained(folder)


def test_damaged_model_folders_are_named(tiny_model_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny_model_folder, folder)
    (folder / "digests.json").unlink()
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[:-100])
    with pytest.raises(ArtifactError, match="not the weights of this model"):
        SpadeModel.from_pretrained(folder)
    (folder / "model.safetensors").write_bytes(weights)
    config = json.loads((folder / "config.json").read_text())
    for change, message in (
        ({"model_type": "bert"}, 'model_type is "bert"'),
        ({"tau": 3}, "unknown settings: tau"),
        ({"alpha": 7}, "alpha must be a fraction"),
        ({"alpha": "x"}, "alpha is 'x', which has the wrong type"),
        ({"k": 2.5}, "k is 2.5"),
        ({"bits": True}, "bits is True"),
        ({"max_length": 100_000}, "reads at most 64 WordPieces"),
        ({"backbone": "x"}, "backbone is 'x'"),
        ({"backbone": None}, "no model can be built from this configuration"),
        ({"backbone": {"model_type": "toaster"}}, "no model can be built from this"),
        ({"backbone": config["backbone"] | {"hidden_size": "x"}}, "must be a number"),
        ({"backbone": config["backbone"] | {"num_hidden_layers": "x"}}, "must be a number"),
        ({"backbone": config["backbone"] | {"num_hidden_layers": 10**6}}, "at most 1,000 layers"),
        ({"backbone": config["backbone"] | {"num_hidden_layers": 999}}, "more weights than"),
        ({"backbone": config["backbone"] | {"intermediate_size": 200_000}}, "more weights than"),
        ({"backbone": config["backbone"] | {"max_position_embeddings": 10**8}}, "more weights"),
        ({"backbone": config["backbone"] | {"chunk_size_feed_forward": 2}}, "cannot encode"),
        ({"scale": 10**400}, "scale must be a positive number"),
        ({"decoder_rank": 100_000}, "decoder_rank is 100000; it must be at most 32"),
        (
            {"decoder_rank": 5000, "backbone": config["backbone"] | {"hidden_size": 5000}},
            "decoder_rank needs more weights than",
        ),
        ({"backbone": config["backbone"] | {"vocab_size": 10**10}}, "more weights than"),
    ):
        (folder / "config.json").write_text(json.dumps(config | change))
        with pytest.raises(InputError, match=message):
            SpadeModel.from_pretrained(folder)


def test_unknown_names() -> None:
    with pytest.raises(NotFoundError, match="there is no model 'no-such/model'"):
        SpadeModel.from_pretrained("no-such/model")
    with pytest.raises(NotFoundError, match="backbone 'no-such/backbone'"):
        SpadeModel.from_backbone("no-such/backbone")
