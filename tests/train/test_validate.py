"""The measures that a validation returns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from spade_pyserini import SpadeModel
from spade_pyserini.train import Recipe, train
from spade_pyserini.train.data import load_training_data
from spade_pyserini.train.dev_set import DevSet
from spade_pyserini.train.log import read_log
from spade_pyserini.train.settings import DevCollection
from spade_pyserini.train.validate import validate


def test_the_mean_over_collections(recipe: Recipe, tiny_model: SpadeModel) -> None:
    words = tiny_model.wordpieces
    assert recipe.validation.dev_queries and recipe.validation.dev_qrels
    complete = DevCollection(
        recipe.data.corpus, recipe.validation.dev_queries, recipe.validation.dev_qrels
    )
    sets = [DevSet(complete, words), DevSet(replace(complete, sample=1), words)]
    alone = [validate(tiny_model, [dev], (0.5,)) for dev in sets]
    both = validate(tiny_model, sets, (0.5,))
    assert alone[0].mrr != alone[1].mrr
    assert both.mrr == pytest.approx((alone[0].mrr + alone[1].mrr) / 2)
    assert both.ndcg == pytest.approx((alone[0].ndcg + alone[1].ndcg) / 2)


def test_terms_are_those_of_the_encoder_that_has_a_share(recipe: Recipe, tmp_path: Path) -> None:
    train(recipe.change(strategy="weighting", weighting_bias=1.0), tmp_path / "run")
    (*_, last) = read_log(tmp_path / "run", "validation")
    documents = load_training_data(recipe).documents.values()
    assert 0 < last["terms"] <= max(len(text.split()) for text in documents)
    assert last["expanded"] > 0
