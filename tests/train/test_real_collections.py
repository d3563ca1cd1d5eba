"""MiniLM improves in two hundred training steps on WikiQA."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest

from spade_pyserini import SpadeModel
from spade_pyserini.models import SpadeConfig
from spade_pyserini.train import (
    load_recipe,
    mine_negatives,
    train,
)
from spade_pyserini.train.dev_set import DevSet
from spade_pyserini.train.log import read_log
from spade_pyserini.train.validate import validate
from tests.conftest import shared_data

MARGIN = 0.10  # least improvement of MRR@10 over the untrained model


@pytest.mark.slow
@pytest.mark.java
def test_two_hundred_steps_on_wikiqa(tmp_path: Path) -> None:
    folder = shared_data("wikiqa")
    recipe = load_recipe("mini").change(
        corpus=str(folder),
        queries=str(folder / "queries.jsonl"),
        qrels=str(folder / "qrels" / "train.tsv"),
        dev_queries=str(folder / "queries.jsonl"),
        dev_qrels=str(folder / "qrels" / "dev.tsv"),
        max_length=48,
        batch_size=16,
        warmup_steps=100,
        steps=200,
        block=64,
        tau=50.0,
        validate_every=100,
    )
    negatives, pool = mine_negatives(recipe, tmp_path / "mined", hits=20)
    recipe = recipe.change(negatives=str(negatives), dev_pool=str(pool))
    best = train(recipe, tmp_path / "run")

    steps = read_log(tmp_path / "run", "step")
    for name in ("weighting_ranking", "expansion_ranking", "expansion_pointwise"):
        values = [line[name] for line in steps]
        # Only the losses of the warm-up are compared: fine-tuning uses hard samples.
        assert fmean(values[80:100]) < 0.9 * fmean(values[:10]), name

    fresh = SpadeModel.from_backbone("minilm", SpadeConfig(k=recipe.model.k, max_length=48))
    dev = [DevSet(collection, fresh.wordpieces) for collection in recipe.dev_collections]
    untrained = validate(fresh, dev)
    trained = validate(SpadeModel.from_pretrained(best), dev)
    assert trained.mrr > untrained.mrr + MARGIN
