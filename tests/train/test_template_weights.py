"""Words around a query: the pupil hears them, its teacher does not."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest
import torch

from spade_pyserini import SpadeModel
from spade_pyserini.errors import UsageError
from spade_pyserini.train import Recipe, fit_request_weights, train
from spade_pyserini.train.data import load_training_data
from spade_pyserini.train.log import read_log
from spade_pyserini.train.objective import Objective
from spade_pyserini.train.beyond.query_templates import AROUND, wrap_query
from spade_pyserini.train.run import start_model
from spade_pyserini.train.beyond.template_weights import Words


def test_a_share_of_the_queries_have_words_around_them() -> None:
    assert all(around.count("{}") == 1 for around in AROUND)
    qids = [f"q{number}" for number in range(2000)]
    asked = [wrap_query(qid, "a {b} c", 0.25) for qid in qids]
    changed = [text for text in asked if text != "a {b} c"]
    assert 400 < len(changed) < 600
    assert all("a {b} c" in text for text in changed)
    assert len(set(changed)) == len(AROUND)
    assert asked == [wrap_query(qid, "a {b} c", 0.25) for qid in qids]
    assert {wrap_query(qid, "x", 0.0) for qid in qids} == {"x"}
    assert "x" not in {wrap_query(qid, "x", 1.0) for qid in qids}
    with pytest.raises(UsageError, match="requests is a share"):
        Recipe(requests=1.5)


def test_only_the_pupil_hears_them(recipe: Recipe) -> None:
    changed = replace(recipe, requests=1.0)
    data = load_training_data(changed)
    objective = Objective(changed, data, start_model(changed), [])
    places = list(range(len(data.samples)))
    plain = [data.queries[data.samples[place].qid] for place in places]
    assert objective._texts(places) == plain
    for request, text in zip(objective._requests(places), plain, strict=True):
        assert text in request and text != request


def test_only_the_words_around_queries_are_weighed_anew(recipe: Recipe, tmp_path: Path) -> None:
    init = train(replace(recipe, saturate=True), tmp_path / "model")
    changed = replace(recipe, init=str(init), requests=0.5)
    best = fit_request_weights(changed, tmp_path / "run")
    old, new = SpadeModel.from_pretrained(init), SpadeModel.from_pretrained(best)
    words = old.wordpieces
    around = {place for text in AROUND for place in words.query_ids(text.format(""))}
    moved = (old.query_weights != new.query_weights).nonzero().flatten().tolist()
    assert moved and set(moved) <= around
    assert old.config == new.config
    one, other = (model.weighting.head.get_parameter("1.weight") for model in (old, new))
    assert torch.equal(one, other)
    distances = [line["distance"] for line in read_log(tmp_path / "run", "step")]
    assert fmean(distances[-20:]) < 0.7 * fmean(distances[:5])
    written = (best / "model.safetensors").stat().st_mtime_ns
    assert fit_request_weights(changed, tmp_path / "run", resume=True) == best
    assert (best / "model.safetensors").stat().st_mtime_ns == written  # finished: nothing to do
    with pytest.raises(UsageError, match=r"saturate is False, but True in .*steps=0 sets it"):
        fit_request_weights(replace(changed, saturate=False), tmp_path / "other")
    with pytest.raises(UsageError, match="names no init"):
        fit_request_weights(replace(recipe, requests=0.5), tmp_path / "none")


def test_forms_of_one_word_share_a_weight(tiny_model: SpadeModel) -> None:
    model = copy.deepcopy(tiny_model)
    places = model.wordpieces.term_ids
    forms = torch.zeros(len(model.kept), dtype=torch.int32)
    forms[[places["a"], places["cat"]]] = 1
    model.use_forms(0.5, forms)
    words = Words(model)
    with torch.no_grad():
        words.logarithms.copy_(torch.arange(1.0, len(words.logarithms) + 1))
    factors = words.factors()
    assert factors[places["a"]] == factors[places["cat"]] != 1
    assert factors[places["the"]] not in (1, factors[places["a"]])
    assert factors[places["dog"]] == 1
