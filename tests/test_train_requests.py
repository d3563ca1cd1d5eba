"""Words around a query: the pupil hears them, its teacher does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spade_pyserini.errors import UsageError
from spade_pyserini.train import Recipe
from spade_pyserini.train.data import load_training_data
from spade_pyserini.train.objective import Objective
from spade_pyserini.train.requests import AROUND, as_request
from spade_pyserini.train.start import start_model


def test_a_share_of_the_queries_have_words_around_them() -> None:
    assert all(around.count("{}") == 1 for around in AROUND)
    qids = [f"q{number}" for number in range(2000)]
    asked = [as_request(qid, "a {b} c", 0.25) for qid in qids]
    changed = [text for text in asked if text != "a {b} c"]
    assert 400 < len(changed) < 600
    assert all("a {b} c" in text for text in changed)
    assert len(set(changed)) == len(AROUND)
    assert asked == [as_request(qid, "a {b} c", 0.25) for qid in qids]
    assert {as_request(qid, "x", 0.0) for qid in qids} == {"x"}
    assert "x" not in {as_request(qid, "x", 1.0) for qid in qids}
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
