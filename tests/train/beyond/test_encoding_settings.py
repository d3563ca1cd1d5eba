"""The stage that chooses alpha and the pruning ratio."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spade_pyserini import SpadeModel
from spade_pyserini.errors import UsageError
from spade_pyserini.train import Recipe, train
from spade_pyserini.train.beyond.encoding_settings import Measured, choose_settings, sparsest
from spade_pyserini.train.dev_set import load_dev_sets
from spade_pyserini.train.stages import run_stage
from spade_pyserini.train.validate import validate

ALPHAS, RATIOS = (0.2, 0.8), (0.0, 0.3, 0.6)


@pytest.fixture
def final(recipe: Recipe, tmp_path: Path) -> Recipe:
    best = train(recipe, tmp_path / "run")
    return recipe.change(init=str(best), alphas=ALPHAS, prune_ratios=RATIOS, tolerance=0.01)


def test_every_combination_is_measured_and_the_chosen_one_saved(
    final: Recipe, tmp_path: Path
) -> None:
    (best,) = run_stage("settings", final, tmp_path / "final")
    results = json.loads((tmp_path / "final" / "settings.json").read_text())
    figures = results["measured"]
    assert [(row["alpha"], row["prune_ratio"]) for row in figures] == [
        (alpha, ratio) for alpha in ALPHAS for ratio in RATIOS
    ]
    assert figures[0]["terms"] > figures[1]["terms"] > figures[2]["terms"] > 0
    chosen = results["chosen"]
    assert chosen in figures
    model = SpadeModel.from_pretrained(best)
    assert (model.config.alpha, model.config.prune_ratio) == (
        chosen["alpha"],
        chosen["prune_ratio"],
    )
    alone = validate(model, load_dev_sets(final, model.wordpieces), (chosen["alpha"],))
    assert alone.ndcg == pytest.approx(chosen["ndcg"], abs=1e-6)
    assert alone.terms == pytest.approx(chosen["terms"], abs=0.1)
    assert model.encode("the cat and the dog")


def test_the_sparsest_of_those_that_are_good_enough() -> None:
    def measured(ndcg: float, terms: float) -> Measured:
        return Measured(0.5, 0.1, ndcg, 0.0, terms, {})

    best, close, poor = measured(0.600, 280), measured(0.598, 150), measured(0.590, 90)
    assert sparsest([best, close, poor], 0.005) == close
    assert sparsest([best, close, poor], 0.0) == best
    assert sparsest([best, close, poor], 0.05) == poor


def test_what_the_stage_needs(final: Recipe, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the recipe names no init"):
        choose_settings(final.change(init=None), tmp_path / "none")
    with pytest.raises(UsageError, match="names no validation collection"):
        choose_settings(final.change(dev_queries=None, dev_qrels=None), tmp_path / "none")
    for name, value in (("forms", 0.5), ("corpus_idf", 0.25)):
        with pytest.raises(
            UsageError, match=rf"{name} is {value}, but .* this stage cannot change"
        ):
            choose_settings(final.change(**{name: value}), tmp_path / "none")
    with pytest.raises(UsageError, match="prune_ratios must be from 0 to below 1"):
        final.change(prune_ratios=(1.0,))
