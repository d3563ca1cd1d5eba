"""Saving and loading checkpoints of a training run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from spade_pyserini.errors import ArtifactError
from spade_pyserini.train import Recipe, fit_masked_lm, train
from spade_pyserini.train.checkpoint import load_checkpoint, remove_leftovers, save_checkpoint
from spade_pyserini.train.log import read_log


def test_a_damaged_checkpoint_is_reported(recipe: Recipe, tmp_path: Path) -> None:
    short = recipe.change(steps=3)
    train(short, tmp_path / "run")
    (tmp_path / "run" / "finished").unlink()
    (tmp_path / "run" / "checkpoint" / "state.json").write_text("{}")
    with pytest.raises(
        ArtifactError, match=r"checkpoint is damaged .*; remove it to start the run again"
    ):
        train(short, tmp_path / "run", resume=True)


def test_a_checkpoint_of_the_earlier_masked_lm_stage(recipe: Recipe, tmp_path: Path) -> None:
    """Old tensor names lack the optimizer's name; the old random state has no process dimension."""
    short = recipe.change(steps=4, warmup_steps=0, validate_every=2)
    fit_masked_lm(short, tmp_path / "run")
    fit_masked_lm(short.change(steps=2), tmp_path / "half")
    checkpoint = load_checkpoint(tmp_path / "half")
    assert checkpoint is not None
    state, tensors = checkpoint
    old = {name.replace("optimiser.expansion.", "optimiser."): x for name, x in tensors.items()}
    assert old.keys() != tensors.keys() and len(old["random.cpu"]) == 1
    old["random.cpu"] = old["random.cpu"][0]
    shutil.rmtree(tmp_path / "run" / "checkpoint")
    (tmp_path / "run" / "finished").unlink()
    weights = (tmp_path / "run" / "best" / "model.safetensors").read_bytes()
    save_checkpoint(tmp_path / "run", {"step": state["step"], "stream": state["stream"]}, old)
    fit_masked_lm(short, tmp_path / "run", resume=True)
    steps = [line["step"] for line in read_log(tmp_path / "run", "step")]
    assert steps == [1, 2, 3, 4]
    assert (tmp_path / "run" / "best" / "model.safetensors").read_bytes() == weights


@pytest.mark.parametrize("left", ["checkpoint", "checkpoint.old"])
def test_a_kill_while_a_checkpoint_is_replaced(tmp_path: Path, left: str) -> None:
    """After a kill, either the new or the old checkpoint is complete."""
    save_checkpoint(tmp_path, {"step": 3}, {"x": torch.ones(2)})
    (tmp_path / "checkpoint").rename(tmp_path / left)
    (tmp_path / "checkpoint.new").mkdir()
    checkpoint = load_checkpoint(tmp_path)
    assert checkpoint is not None and checkpoint[0]["step"] == 3
    save_checkpoint(tmp_path, {"step": 4}, {"x": torch.zeros(2)})
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]
    checkpoint = load_checkpoint(tmp_path)
    assert checkpoint is not None and checkpoint[0]["step"] == 4


def test_a_flipped_bit_in_the_tensors_is_reported(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, {"step": 3}, {"x": torch.ones(20)})
    assert load_checkpoint(tmp_path) is not None
    path = tmp_path / "checkpoint" / "tensors.safetensors"
    content = bytearray(path.read_bytes())
    content[-10] ^= 1
    path.write_bytes(content)
    with pytest.raises(ArtifactError, match=r"tensors\.safetensors differs from its digest"):
        load_checkpoint(tmp_path)


def test_leftovers_of_a_kill_are_removed(tmp_path: Path) -> None:
    """The old checkpoint is a leftover only if there is a newer one."""
    save_checkpoint(tmp_path, {"step": 1}, {"x": torch.ones(1)})
    (tmp_path / "checkpoint").rename(tmp_path / "checkpoint.old")
    (tmp_path / "checkpoint.new").mkdir()
    remove_leftovers(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.old"]
    checkpoint = load_checkpoint(tmp_path)
    assert checkpoint is not None and checkpoint[0]["step"] == 1
    shutil.copytree(tmp_path / "checkpoint.old", tmp_path / "checkpoint")
    remove_leftovers(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"]
