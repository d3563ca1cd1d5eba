"""Fitting a masked-LM head on plain text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeModel
from spade_pyserini.errors import InputError
from spade_pyserini.models.tensors import pad_batch
from spade_pyserini.train import Recipe, fit_masked_lm, train
from spade_pyserini.train.beyond.masked_lm import (
    MaskedBatch,
    MaskedLMTrainer,
    mask_batch,
    masked_lm_loss,
)
from spade_pyserini.train.checkpoint import NAME
from spade_pyserini.train.initial_model import start_model
from spade_pyserini.train.log import read_log
from tests.commands import Commands


@pytest.fixture
def head_recipe(recipe: Recipe) -> Recipe:
    return recipe.change(steps=12, warmup_steps=0, validate_every=4, expansion_rate=3e-3)


def test_the_held_out_loss_falls_and_training_starts_from_it(
    head_recipe: Recipe, recipe: Recipe, tmp_path: Path
) -> None:
    best = fit_masked_lm(head_recipe.change(steps=60), tmp_path / "head")
    values = [line["masked_lm"] for line in read_log(tmp_path / "head", "validation")]
    assert values[-1] < 0.9 * values[0]
    model = SpadeModel.from_pretrained(best)
    trained = train(recipe.change(init=str(best), steps=1, warmup_steps=1), tmp_path / "run")
    moved = (
        SpadeModel.from_pretrained(trained).expansion.head.dense.weight
        - model.expansion.head.dense.weight
    )
    assert 0 < moved.abs().max() < 2e-3  # one step of Adam from the fitted head


def test_a_head_alone_leaves_the_transformer_as_it_was(head_recipe: Recipe, tmp_path: Path) -> None:
    frozen = head_recipe.change(expansion_rate=0.0, head_rate=1e-3)
    before, best = start_model(frozen), fit_masked_lm(frozen, tmp_path / "head")
    after = SpadeModel.from_pretrained(best)
    for name, parameter in before.expansion.backbone.named_parameters():
        assert torch.equal(parameter, after.expansion.backbone.get_parameter(name))
    assert not torch.equal(before.expansion.head.dense.weight, after.expansion.head.dense.weight)


def test_resumed_to_the_same_bits(head_recipe: Recipe, tmp_path: Path) -> None:
    fit_masked_lm(head_recipe, tmp_path / "complete")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MaskedLMTrainer, "train_step", _interrupted(MaskedLMTrainer.train_step))
        with pytest.raises(KeyboardInterrupt):
            fit_masked_lm(head_recipe, tmp_path / "cut")
    fit_masked_lm(head_recipe, tmp_path / "cut", resume=True)
    for name in ("best/model.safetensors", f"{NAME}/tensors.safetensors", "log.jsonl"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "complete" / name).read_bytes()


TrainStep = Callable[[MaskedLMTrainer, list[list[int]]], float]


def _interrupted(train_step: TrainStep) -> TrainStep:
    """Return a ``train_step`` that raises ``KeyboardInterrupt`` after step 6."""

    def interrupted(trainer: MaskedLMTrainer, documents: list[list[int]]) -> float:
        if trainer.step == 6:
            raise KeyboardInterrupt
        return train_step(trainer, documents)

    return interrupted


def test_micro_batches_change_nothing(tiny_model: SpadeModel) -> None:
    ids = tiny_model.wordpieces.document_ids(
        ["the old cat sleeps in the house", "a dog eats the fish and the bird sings"], 32
    )
    torch.manual_seed(3)
    batch = mask_batch(*pad_batch(ids, torch.device("cpu")), tiny_model)
    assert batch.predicted.any(dim=1).all()
    loss = masked_lm_loss(tiny_model, batch)
    parts = [MaskedBatch(*(part[[row]] for part in batch)) for row in range(2)]
    rows = [masked_lm_loss(tiny_model, part) for part in parts]
    assert torch.allclose(sum(rows, torch.zeros(())), loss, atol=1e-4)


def test_which_wordpieces_are_masked(tiny_model: SpadeModel) -> None:
    ids = tiny_model.wordpieces.document_ids(["the old cat sleeps in the house"] * 500, 32)
    torch.manual_seed(3)
    read, mask, original, predicted = mask_batch(*pad_batch(ids, torch.device("cpu")), tiny_model)
    special = torch.tensor(sorted(tiny_model.wordpieces.special_ids))
    assert not torch.isin(original[predicted], special).any()
    assert torch.equal(read[~predicted], original[~predicted])
    inner = int(mask.sum()) - 2 * len(ids)
    assert 0.12 < int(predicted.sum()) / inner < 0.18
    masked = (read[predicted] == tiny_model.wordpieces.mask_id).float().mean()
    assert 0.7 < masked < 0.9


def test_too_little_text(head_recipe: Recipe, tmp_path: Path, run: Commands) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "1", "text": "cat"}\n')
    few = head_recipe.change(corpus=str(tmp_path / "corpus.jsonl"))
    with pytest.raises(InputError, match="only 0 documents have 8 WordPieces or more"):
        fit_masked_lm(few, tmp_path / "head")
    result = run("train", "--recipe", "mini", "--stage", "head", "--output", tmp_path / "x")
    assert result.code == 2
    assert "the recipe names no corpus" in result.err
