"""The help of ``spade train``."""

from __future__ import annotations

from spade_pyserini.train.recipe import RECIPES
from tests.commands import Commands


def test_help_names_all_recipes_that_ship(run: Commands) -> None:
    shown = " ".join(run("train", "--help").out.split())
    names = sorted(path.stem for path in RECIPES.glob("*.toml"))
    assert len(names) >= 8
    assert f"{', '.join(names)}, or a .toml file" in shown.replace("- ", "-")
