"""The FLOPS regularizer in training."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini.train import Recipe, train
from spade_pyserini.train.log import read_log


def test_flops_count_from_fine_tuning_on(recipe: Recipe, tmp_path: Path) -> None:
    train(recipe.change(flops=0.1, warmup_steps=2, steps=4), tmp_path / "run")
    steps = read_log(tmp_path / "run", "step")
    assert [("expansion_flops" in line) for line in steps] == [False, False, True, True]
