"""Weights of query terms and idf of the corpus."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeModel
from spade_pyserini.models.term_counts import count_terms, counted_idf
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.train import Recipe, train
from spade_pyserini.train.data import load_training_data
from spade_pyserini.train.loop import Trainer
from spade_pyserini.train.run import Run


def test_a_corpus_says_how_rare_a_term_is(recipe: Recipe, tmp_path: Path) -> None:
    rare = recipe.change(idf="learned", corpus_idf=0.5)
    trainer = Trainer(Run("train", rare, tmp_path / "run"))
    model = trainer.model
    texts = list(trainer.data.documents.values())
    counts = count_terms(model.wordpieces, texts, len(model.kept), recipe.model.max_length)
    assert model.config.corpus_idf == 0.5 and model.document_frequency is not None
    idf = counted_idf(model.wordpieces, counts, trainer.data.queries.values())
    assert torch.allclose(model.query_weights, idf**0.5)
    assert torch.allclose(model.weights_for(None), model.corpus_weights)

    best = train(rare, tmp_path / "whole")
    loaded = SpadeModel.from_pretrained(best)
    text = trainer.data.documents["d0"]
    before = loaded.encode([text])[0]
    loaded.read_corpus(count_terms(loaded.wordpieces, [text] * 5000, len(loaded.kept), 64))
    after = loaded.encode([text])[0]
    own = set(loaded.wordpieces.query_terms(text)) & before.keys()
    assert own and all(0 < after[term] < before[term] for term in own)  # all documents have it
    assert all(after[term] > before[term] for term in before.keys() - own)  # none has it


def test_training_goes_on_from_a_model_with_settings_of_its_own(
    recipe: Recipe, tmp_path: Path
) -> None:
    first = train(recipe.change(corpus_idf=0.5, saturate=True), tmp_path / "first")
    second = train(recipe.change(init=str(first)), tmp_path / "second")
    config = SpadeModel.from_pretrained(second).config
    assert (config.corpus_idf, config.saturate) == (0.5, True)
    plain = recipe.change(init=str(first), corpus_idf=0.0, saturate=False)
    third = SpadeModel.from_pretrained(train(plain, tmp_path / "third"))
    assert (third.config.corpus_idf, third.config.saturate) == (0.0, False)
    assert third.document_frequency is None and (third.corpus_weights == 1).all()


def test_counted_idf_is_bm25s(tiny_model: SpadeModel) -> None:
    words: WordPieces = tiny_model.wordpieces
    texts = ["the cat the cat", "the dog", "the bird"]
    counts = count_terms(words, texts, len(words.terms), 32)
    weights = counted_idf(words, counts, ["the cat"])
    the, cat, fish = (words.terms.index(term) for term in ("the", "cat", "fish"))
    expected = {
        the: math.log(1 + 0.5 / 3.5),
        cat: math.log(1 + 2.5 / 1.5),
        fish: math.log(1 + 3.5 / 0.5),
    }
    mean = (expected[the] + expected[cat]) / 2
    for term_id, value in expected.items():
        assert weights[term_id].item() == pytest.approx(value / mean, rel=1e-5)


@pytest.mark.parametrize("idf", ["counted", "learned"])
def test_weights_of_query_terms_travel_with_the_model(
    recipe: Recipe, tmp_path: Path, idf: str
) -> None:
    best = train(recipe.change(idf=idf, idf_rate=0.05), tmp_path / "run")
    model = SpadeModel.from_pretrained(best)
    data = load_training_data(recipe)
    texts = list(data.documents.values())
    counts = count_terms(model.wordpieces, texts, len(model.kept), recipe.model.max_length)
    queries = data.queries.values()
    counted = counted_idf(model.wordpieces, counts, queries)
    assert (model.query_weights >= 0).all()
    assert torch.allclose(model.query_weights, counted) is (idf == "counted")


def test_a_weighted_query_is_a_boolean_one_on_weighted_documents(tiny_model_folder: Path) -> None:
    model = SpadeModel.from_pretrained(tiny_model_folder)
    ids = model.wordpieces.document_ids(["the old cat sleeps", "a dog eats the fish"], 32)
    plain = model.weigh(ids)
    model.query_weights.data.uniform_(0, 3)
    query = torch.zeros(plain.shape[1])
    query[[model.wordpieces.terms.index(term) for term in ("the", "cat", "fish")]] = 1
    expected = plain @ (query * model.query_weights)
    assert torch.allclose(model.weigh(ids) @ query, expected, rtol=1e-5)
    before = SpadeModel.from_pretrained(tiny_model_folder)
    assert model.fingerprint != before.fingerprint
