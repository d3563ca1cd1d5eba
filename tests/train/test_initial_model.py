"""The model that training starts from."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file

from spade_pyserini import SpadeModel
from spade_pyserini.errors import InputError, UsageError
from spade_pyserini.models import SpadeEncoder
from spade_pyserini.train import Recipe, train
from spade_pyserini.train.initial_model import start_model


def test_a_new_weighting_head_can_start_with_positive_weights(recipe: Recipe) -> None:
    alive = {}
    for bias in (0.0, 1.0):
        model = start_model(recipe.change(weighting_bias=bias)).eval()
        ids = model.wordpieces.document_ids(["the old cat sleeps", "a dog eats the fish"], 32)
        weights = SpadeEncoder(model).components(ids)[0]
        alive[bias] = weights[weights > 0]
    assert len(alive[1.0]) == 9 and (alive[1.0] - 1).abs().max() < 0.5
    assert not len(alive[0.0]) or alive[0.0].max() < 0.5


def test_a_tokenizer_that_does_not_match_the_backbone(tiny_backbone: Path, tmp_path: Path) -> None:
    from transformers import BertConfig, BertModel

    config = BertConfig.from_pretrained(tiny_backbone)
    config.vocab_size -= 20
    shutil.copytree(tiny_backbone, tmp_path / "b")
    BertModel(config).save_pretrained(tmp_path / "b")  # type: ignore[no-untyped-call]
    with pytest.raises(InputError, match="they do not belong together"):
        SpadeModel.from_backbone(tmp_path / "b")


def test_a_length_that_the_backbone_cannot_read_fails_before_training(
    recipe: Recipe, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="1024"):
        train(recipe.change(encode_length=1024), tmp_path / "run")
    assert not (tmp_path / "run" / "recipe.json").exists()
    assert start_model(recipe.change(encode_length=48)).config.max_length == recipe.model.max_length


def test_training_adapters_and_continuing_from_a_model(recipe: Recipe, tmp_path: Path) -> None:
    first = recipe.change(adapter_rank=2, steps=4)
    best = train(first, tmp_path / "one")
    saved = load_file(best / "model.safetensors")
    assert sum(tensor.numel() for tensor in saved.values()) < 25_000
    again = train(first.change(init=str(best), seed=5), tmp_path / "two")
    assert SpadeModel.from_pretrained(again).fingerprint != (
        SpadeModel.from_pretrained(best).fingerprint
    )
    with pytest.raises(UsageError, match="adapter_rank is 0, but 2 in"):
        train(recipe.change(init=str(best)), tmp_path / "three")
