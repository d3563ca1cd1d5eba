"""Validation collections."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeModel
from spade_pyserini.errors import InputError
from spade_pyserini.models import SpadeEncoder
from spade_pyserini.models.tensors import sparse
from spade_pyserini.train import Recipe
from spade_pyserini.train.dev_set import DevSet, Mixture
from spade_pyserini.train.settings import DevCollection
from tests.models.helpers import weigh


def test_a_pool_and_a_sample_make_validation_smaller(
    recipe: Recipe, tiny_model: SpadeModel
) -> None:
    words = tiny_model.wordpieces
    assert recipe.validation.dev_queries and recipe.validation.dev_qrels
    complete = DevCollection(
        recipe.data.corpus, recipe.validation.dev_queries, recipe.validation.dev_qrels
    )
    assert (len(DevSet(complete, words).topics), len(DevSet(complete, words).texts)) == (6, 30)
    small = DevSet(replace(complete, pool=recipe.data.negatives, sample=2), words)
    assert [topic.qid for topic in small.topics] == ["q0", "q3"]
    assert set(small.docids) == {f"d{number}" for number in (*range(6), *range(12, 18))}


def test_a_dev_set_of_another_corpus(
    recipe: Recipe, tiny_model: SpadeModel, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An error is raised if all relevant documents are missing; a warning is logged if some are."""
    other = tmp_path / "other.jsonl"
    other.write_text('{"id": "x", "contents": "a cat"}\n')
    collection = DevCollection(
        str(other), recipe.data.queries, str(recipe.data.qrels), pool=recipe.data.negatives
    )
    with pytest.raises(InputError, match=r"other\.jsonl: none of the 12 relevant documents of"):
        DevSet(collection, tiny_model.wordpieces)
    other.write_text('{"id": "d0", "contents": "a cat"}\n')
    assert DevSet(collection, tiny_model.wordpieces).docids == ["d0"]
    assert "11 of 12 relevant documents" in caplog.text


def test_validation_scores_the_weights_that_are_encoded(
    tiny_model: SpadeModel, recipe: Recipe
) -> None:
    model = tiny_model.with_settings(saturate=True, alpha=0.3)
    (collection,) = recipe.dev_collections
    dev = DevSet(collection, model.wordpieces)
    with torch.inference_mode():
        scores = dev.scores(model, [Mixture(0.0), Mixture(0.3)]).relevance[1]
    vectors = list(map(SpadeEncoder(model).named, sparse(weigh(model, dev.texts))))
    for row, topic in enumerate(dev.topics):
        terms = set(model.wordpieces.query_terms(topic.text))
        expected = [sum(vector.get(term, 0.0) for term in terms) for vector in vectors]
        assert scores[row].tolist() == pytest.approx(expected, rel=1e-4)
