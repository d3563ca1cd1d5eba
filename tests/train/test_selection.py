"""Selection of the best model of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini import SpadeModel
from spade_pyserini.errors import UsageError
from spade_pyserini.train import Recipe, train
from spade_pyserini.train.log import read_log
from spade_pyserini.train.loop import Trainer
from spade_pyserini.train.run import Run


def test_only_fine_tuned_models_are_candidates(recipe: Recipe, tmp_path: Path) -> None:
    settings = recipe.change(warmup_steps=2, steps=3, validate_every=1, encode_length=20)
    # The model does not change, so all validations are equal: the first one after the warm-up
    # stays the best.
    settings = settings.change(weighting_rate=0.0, expansion_rate=0.0, head_rate=None, gammas=())
    trainer = Trainer(Run("train", settings, tmp_path / "run"))
    trainer.train()
    assert [line["step"] for line in read_log(tmp_path / "run", "validation")] == [1, 2, 3]
    assert trainer.selection.best["step"] == 3
    assert SpadeModel.from_pretrained(tmp_path / "run" / "best").config.max_length == 20
    assert trainer.model.config.max_length == recipe.model.max_length


@pytest.mark.parametrize(
    ("strategy", "alpha"), [("weighting", 0.0), ("expansion", 1.0), ("joint", 0.3)]
)
def test_alpha_without_a_dev_set(
    recipe: Recipe, tmp_path: Path, strategy: str, alpha: float
) -> None:
    """If only one encoder is trained, alpha is 0 or 1, so that the other encoder has no effect."""
    changed = recipe.change(strategy=strategy, dev_queries="", dev_qrels="")
    best = train(changed, tmp_path / "run")
    assert SpadeModel.from_pretrained(best).config.alpha == alpha


def test_alpha_of_the_recipe(recipe: Recipe, tmp_path: Path) -> None:
    best = train(recipe.change(alphas=(0.4,), dev_queries="", dev_qrels=""), tmp_path / "run")
    assert SpadeModel.from_pretrained(best).config.alpha == 0.4
    train(recipe.change(alphas=(0.2, 0.7), steps=3, validate_every=3), tmp_path / "two")
    (line,) = read_log(tmp_path / "two", "validation")
    assert line["alpha"] in (0.2, 0.7) and list(line["by_alpha"]) == ["0.2", "0.7"]
    with pytest.raises(UsageError, match="alphas must be from 0 to 1"):
        recipe.change(alphas=(1.5,))
