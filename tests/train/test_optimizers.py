"""Learning rates."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeModel
from spade_pyserini.train import Recipe, train
from spade_pyserini.train.initial_model import start_model
from spade_pyserini.train.optimizers import rate_factor


def test_schedules(recipe: Recipe) -> None:
    assert rate_factor(recipe.optimization, 5) == 1
    linear = recipe.change(schedule="linear", steps=10, warmup_steps=0, rate_warmup=3)
    factors = [rate_factor(linear.optimization, number) for number in range(10)]
    assert factors[:4] == [0.25, 0.5, 0.75, 1.0]
    assert factors[4:] == sorted(factors[4:], reverse=True)
    assert factors[-1] == pytest.approx(1 / 7)


def test_a_head_with_a_rate_of_0_stays_as_it_was(recipe: Recipe, tmp_path: Path) -> None:
    frozen = recipe.change(head_rate=1e-2, expansion_head_rate=0.0)
    start, best = start_model(frozen), train(frozen, tmp_path / "run")
    trained = SpadeModel.from_pretrained(best)
    moved = [
        not torch.equal(*(model.get_parameter(name) for model in (start, trained)))
        for name in ("expansion.head.dense.weight", "weighting.head.1.weight")
    ]
    assert moved == [False, True]
