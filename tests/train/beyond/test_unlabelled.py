"""Samples for queries without judgements."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spade_pyserini.errors import InputError, UsageError
from spade_pyserini.train import Recipe
from spade_pyserini.train.beyond.unlabelled import samples_from_run
from spade_pyserini.train.data import load_training_data
from spade_pyserini.train.samples import Sample
from spade_pyserini.train.settings import TrainingCollection


def test_unlabelled_queries_take_their_positives_from_a_run(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text(
        "q0 Q0 d5 1 0.9 x\nq0 Q0 d6 2 0.8 x\nq0 Q0 d7 3 0.7 x\n"
        "q1 Q0 d5 1 0.4 x\nq1 Q0 d6 2 0.3 x\n"  # the score of the first hit is too low
        "q2 Q0 d8 1 0.6 x\n"  # q2 is left out: it has no second hit to use as a negative
    )
    unlabelled = TrainingCollection(
        recipe.data.corpus,
        recipe.data.queries,
        negatives=str(tmp_path / "run.txt"),
        least_score=0.5,
    )

    def samples(recipe: Recipe, **changes: Any) -> list[Sample]:
        changed = recipe.change(data=(replace(unlabelled, **changes),))
        return load_training_data(changed, unlabelled=samples_from_run).samples

    with pytest.raises(UsageError, match="no qrels, triples or teacher given"):
        samples(recipe)
    taught = recipe.change(dense_teacher="minilm")
    assert samples(taught) == [("q0", "d5", ("d7",))]
    assert samples(recipe.change(pool_queries=12)) == [("q0", "d5", ("d7",))]
    with pytest.raises(InputError, match=r"no query has a first hit with a score of 0\.95"):
        samples(taught, least_score=0.95)
    with pytest.raises(UsageError, match="needs qrels, triples or negatives"):
        samples(taught, negatives=None)
    with pytest.raises(UsageError, match="needs qrels or triples"):
        load_training_data(taught.change(data=(unlabelled,)))
