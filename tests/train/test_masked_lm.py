"""The masked-LM head from plain text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeModel
from spade_pyserini.errors import InputError
from spade_pyserini.models.tensors import pad_batch
from spade_pyserini.train import Recipe, fit_head, train
from spade_pyserini.train.checkpoint import NAME
from spade_pyserini.train.log import read_log
from spade_pyserini.train.beyond.masked_lm import hide, masked_lm_loss
from tests.commands import Commands


@pytest.fixture
def head_recipe(recipe: Recipe) -> Recipe:
    return replace(recipe, steps=12, warmup_steps=0, validate_every=4, expansion_rate=3e-3)


def test_the_held_out_loss_falls_and_training_starts_from_it(
    head_recipe: Recipe, recipe: Recipe, tmp_path: Path
) -> None:
    best = fit_head(replace(head_recipe, steps=60), tmp_path / "head")
    values = [line["masked_lm"] for line in read_log(tmp_path / "head", "validation")]
    assert values[-1] < 0.9 * values[0]
    model = SpadeModel.from_pretrained(best)
    trained = train(replace(recipe, init=str(best), steps=1, warmup_steps=1), tmp_path / "run")
    moved = (
        SpadeModel.from_pretrained(trained).expansion.head.dense.weight
        - model.expansion.head.dense.weight
    )
    assert 0 < moved.abs().max() < 2e-3  # one step of Adam from there


def test_a_head_alone_leaves_the_transformer_as_it_was(head_recipe: Recipe, tmp_path: Path) -> None:
    best = fit_head(replace(head_recipe, expansion_rate=0.0, head_rate=1e-3), tmp_path / "head")
    model = SpadeModel.from_pretrained(best)
    for one, other in zip(
        model.expansion.backbone.parameters(), model.weighting.backbone.parameters(), strict=True
    ):
        assert torch.equal(one, other)
    assert not torch.equal(model.expansion.head.dense.weight, torch.eye(32))


def test_resumed_to_the_same_bits(head_recipe: Recipe, tmp_path: Path) -> None:
    fit_head(head_recipe, tmp_path / "whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "spade_pyserini.train.beyond.masked_lm.HeadFitter._learn", _interrupted_at(tmp_path / "cut")
        )
        with pytest.raises(KeyboardInterrupt):
            fit_head(head_recipe, tmp_path / "cut")
    fit_head(head_recipe, tmp_path / "cut", resume=True)
    for name in ("best/model.safetensors", f"{NAME}/tensors.safetensors", "log.jsonl"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def _interrupted_at(run: Path):  # type: ignore[no-untyped-def]
    from spade_pyserini.train.beyond.masked_lm import HeadFitter

    learn = HeadFitter._learn

    def interrupted(fitter: HeadFitter, documents: list[list[int]]) -> float:
        if fitter.step == 6:
            raise KeyboardInterrupt
        return learn(fitter, documents)

    return interrupted


def test_micro_batches_change_nothing(tiny_model: SpadeModel) -> None:
    ids = tiny_model.wordpieces.document_ids(
        ["the old cat sleeps in the house", "a dog eats the fish and the bird sings"], 32
    )
    torch.manual_seed(3)
    whole = hide(*pad_batch(ids, torch.device("cpu")), tiny_model)
    loss = masked_lm_loss(tiny_model, *whole)
    rows = [masked_lm_loss(tiny_model, *(part[[row]] for part in whole)) for row in range(2)]
    assert torch.allclose(sum(rows, torch.zeros(())), loss, atol=1e-4)


def test_what_is_hidden(tiny_model: SpadeModel) -> None:
    ids = tiny_model.wordpieces.document_ids(["the old cat sleeps in the house"] * 500, 32)
    torch.manual_seed(3)
    read, mask, wanted, chosen = hide(*pad_batch(ids, torch.device("cpu")), tiny_model)
    special = torch.tensor(sorted(tiny_model.wordpieces.special_ids))
    assert not torch.isin(wanted[chosen], special).any()
    assert torch.equal(read[~chosen], wanted[~chosen])
    inner = int(mask.sum()) - 2 * len(ids)
    assert 0.12 < int(chosen.sum()) / inner < 0.18
    masked = (read[chosen] == tiny_model.wordpieces.mask_id).float().mean()
    assert 0.7 < masked < 0.9


def test_too_little_text(head_recipe: Recipe, tmp_path: Path, run: Commands) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "1", "text": "cat"}\n')
    few = replace(head_recipe, corpus=str(tmp_path / "corpus.jsonl"))
    with pytest.raises(InputError, match="only 0 documents have 8 WordPieces or more"):
        fit_head(few, tmp_path / "head")
    result = run("train", "--recipe", "mini", "--stage", "head", "--output", tmp_path / "x")
    assert result.code == 2
    assert "the recipe names no corpus" in result.err
