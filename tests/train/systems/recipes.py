"""Recipes that train a system other than SpaDE on the tiny data."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini.train import Recipe
from spade_pyserini.train.run import Run
from spade_pyserini.train.systems.trainer import SystemTrainer

NAMES = ("deepct", "deepimpact", "sparterm", "splade", "tilde", "tildev2", "unicoil")


def of_system(recipe: Recipe, name: str, **changes: object) -> Recipe:
    """Return the tiny recipe for a system, without dropout; ``changes`` are further settings."""
    settings = {"warmup_steps": 0, "steps": 4, "dropout": 0.0, "weighting_bias": 0.5, **changes}
    return recipe.change(system=name, **settings)


def trainer(recipe: Recipe, name: str, folder: Path, **changes: object) -> SystemTrainer:
    """Return a trainer of a system on the tiny data, which writes to ``folder``."""
    return SystemTrainer(Run("train", of_system(recipe, name, **changes), folder))
