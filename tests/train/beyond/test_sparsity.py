"""Sparsity regularizers in training: FLOPS and L1."""

from __future__ import annotations

from pathlib import Path

import torch

from spade_pyserini.train import Recipe, train
from spade_pyserini.train.beyond.losses import flops_loss, l1_loss
from spade_pyserini.train.log import read_log


def test_regularizers_count_from_fine_tuning_on(recipe: Recipe, tmp_path: Path) -> None:
    train(recipe.change(flops=0.1, l1=0.2, warmup_steps=2, steps=4), tmp_path / "run")
    steps = read_log(tmp_path / "run", "step")
    for part in ("expansion_flops", "expansion_l1"):
        assert [(part in line) for line in steps] == [False, False, True, True]


def test_l1_makes_documents_shorter(recipe: Recipe, tmp_path: Path) -> None:
    sums = {}
    for weight in (0.0, 1.0):
        changed = recipe.change(l1=weight, flops=1e-9, strategy="expansion", warmup_steps=0)
        train(changed.change(steps=30, validate_every=30), tmp_path / f"run{weight}")
        sums[weight] = read_log(tmp_path / f"run{weight}", "step")[-1]["expansion_flops"]
    assert sums[1.0] < 0.5 * sums[0.0]


def test_the_regularizers_literally() -> None:
    documents = torch.tensor([[1.0, 0.0, 2.0], [3.0, 0.0, 0.0]])
    assert l1_loss(documents).item() == (1 + 2 + 3) / 2
    assert flops_loss(documents).item() == ((1 + 3) / 2) ** 2 + (2 / 2) ** 2
