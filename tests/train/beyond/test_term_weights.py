"""Weights of query terms and idf of the corpus."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeModel
from spade_pyserini.models import SpadeEncoder
from spade_pyserini.models.extensions import corpus_weights
from spade_pyserini.models.term_counts import count_terms, counted_idf
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.train import Recipe, train
from spade_pyserini.train.beyond.losses import flops_loss
from spade_pyserini.train.beyond.term_weights import TermWeights
from spade_pyserini.train.data import load_training_data
from spade_pyserini.train.loop import Trainer
from spade_pyserini.train.queries import query_vectors
from spade_pyserini.train.run import Run


def test_corpus_idf_uses_the_corpus_that_is_encoded(recipe: Recipe, tmp_path: Path) -> None:
    rare = recipe.change(idf="learned", corpus_idf=0.5)
    trainer = Trainer(Run("train", rare, tmp_path / "run"))
    model = trainer.model
    texts = list(trainer.data.documents.values())
    counts = count_terms(model.wordpieces, texts, len(model.kept), recipe.model.max_length)
    assert model.config.corpus_idf == 0.5 and model.document_frequency is not None
    idf = counted_idf(model.wordpieces, counts, trainer.data.queries.values())
    assert torch.allclose(model.query_weights, idf**0.5)

    best = train(rare, tmp_path / "reference")
    loaded = SpadeEncoder.from_pretrained(best)
    text = trainer.data.documents["d0"]
    before = loaded.encode(text)
    size = loaded.wordpieces.vocabulary_size
    counts = count_terms(loaded.wordpieces, [text] * 5000, size, 64)
    after = loaded.for_corpus(counts).encode(text)
    own = set(loaded.wordpieces.query_terms(text)) & before.keys()
    assert own and all(0 < after[term] < before[term] for term in own)  # high df: low idf
    assert all(after[term] > before[term] for term in before.keys() - own)  # df 0: high idf


def test_training_keeps_or_changes_the_settings_of_the_initial_model(
    recipe: Recipe, tmp_path: Path
) -> None:
    first = train(recipe.change(corpus_idf=0.5, saturate=True), tmp_path / "first")
    second = train(recipe.change(init=str(first)), tmp_path / "second")
    config = SpadeModel.from_pretrained(second).config
    assert (config.corpus_idf, config.saturate) == (0.5, True)
    plain = recipe.change(init=str(first), corpus_idf=0.0, saturate=False)
    third = SpadeModel.from_pretrained(train(plain, tmp_path / "third"))
    assert (third.config.corpus_idf, third.config.saturate) == (0.0, False)
    assert third.document_frequency is None and (corpus_weights(third, None) == 1).all()


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
def test_weights_of_query_terms_are_saved_with_the_model(
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
    plain = SpadeEncoder(model).weigh(ids)
    model.query_weights.data.uniform_(0, 3)
    query = torch.zeros(plain.shape[1])
    query[[model.wordpieces.terms.index(term) for term in ("the", "cat", "fish")]] = 1
    expected = plain @ (query * model.query_weights)
    assert torch.allclose(SpadeEncoder(model).weigh(ids) @ query, expected, rtol=1e-5)
    before = SpadeModel.from_pretrained(tiny_model_folder)
    assert model.fingerprint != before.fingerprint


@pytest.mark.parametrize("saturate", [True, False])
def test_losses_use_the_weights_that_are_encoded(
    recipe: Recipe, tmp_path: Path, saturate: bool
) -> None:
    changed = recipe.change(saturate=saturate, corpus_idf=0.5, idf="counted", flops=0.5)
    trainer = Trainer(Run("train", changed, tmp_path / "run"))
    objective, samples = trainer.objective, [0, 5, 3]
    extensions = objective.extensions
    (term_weights, _) = extensions.extensions
    assert isinstance(term_weights, TermWeights)
    docids = objective.documents(samples)
    vectors = torch.rand(len(docids), len(trainer.model.kept), requires_grad=True)
    weights = vectors * trainer.model.query_weights * term_weights.corpus_weights[0]
    expected = weights.log1p() if saturate else weights
    queries = query_vectors(trainer.model, trainer.data.query_texts(samples))
    scores = extensions.scores(samples, queries, vectors)
    assert torch.allclose(scores, queries @ expected.T)
    parts = objective.loss(samples, vectors, expansion=True)
    assert torch.isfinite(
        torch.autograd.grad(torch.stack([*parts.values()]).sum(), vectors)[0]
    ).all()
    plain = vectors.log1p() if saturate else vectors
    assert parts["flops"] == 0.5 * flops_loss(plain)
    sample_losses = objective.sample_losses(samples, vectors[:3], vectors[-3:])
    pairs = torch.stack([scores.diagonal(), scores[:, -3:].diagonal()], dim=1)
    assert torch.allclose(sample_losses, -torch.log_softmax(pairs, dim=1)[:, 0])
