"""Training of models with adapters, fewer expansion terms, inflected forms or saturation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from spade_pyserini import SpadeConfig, SpadeModel
from spade_pyserini.errors import UsageError
from spade_pyserini.models import SpadeEncoder
from spade_pyserini.models.tensors import sparse
from spade_pyserini.models.wordpieces import PRETRAINED, WordPieces
from spade_pyserini.train import Recipe, fit_query_head, load_recipe, losses, train
from spade_pyserini.train.inflections import word_forms
from spade_pyserini.train.log import read_log
from spade_pyserini.train.loop import Trainer
from spade_pyserini.train.recipe import DevCollection
from spade_pyserini.train.term_vectors import TermVectors, install
from spade_pyserini.train.validate import DevSet, query_vectors
from tests.models.helpers import components, embeddings, hidden_states, inputs, weigh


def test_training_adapters_and_going_on_from_a_model(recipe: Recipe, tmp_path: Path) -> None:
    first = replace(recipe, adapter_rank=2, steps=4)
    best = train(first, tmp_path / "one")
    saved = load_file(best / "model.safetensors")
    assert sum(tensor.numel() for tensor in saved.values()) < 25_000
    again = train(replace(first, init=str(best), seed=5), tmp_path / "two")
    assert SpadeModel.from_pretrained(again).fingerprint != (
        SpadeModel.from_pretrained(best).fingerprint
    )
    with pytest.raises(UsageError, match="adapter_rank is 0, but 2 in"):
        train(replace(recipe, init=str(best)), tmp_path / "three")


def test_training_with_fewer_terms(recipe: Recipe, tmp_path: Path) -> None:
    best = train(replace(recipe, expansion_terms=6, decoder_rank=2), tmp_path / "run")
    model = SpadeModel.from_pretrained(best)
    assert int(model.expansion.expandable.sum()) == 6
    _, expansion = components(model, ["the old cat sleeps"])
    assert int((expansion > 0).sum()) <= 6
    again = replace(recipe, init=str(best), expansion_terms=30_522, decoder_rank=2)
    model = SpadeModel.from_pretrained(train(again, tmp_path / "again"))
    assert model.expansion.expandable.all()  # terms can be allowed again


def test_a_head_that_starts_from_query_terms(tmp_path: Path) -> None:
    start = load_recipe("spade-mini-start")
    small = replace(
        start,
        data=(replace(start.data[0], corpus="", queries="pydoc-dev", qrels="pydoc-dev"),),
        adapter_rank=2,
        adapter_layers=1,
        decoder_rank=4,
        steps=150,
        batch_size=40,
    )
    model = SpadeModel.from_pretrained(fit_query_head(small, tmp_path / "start"))
    distances = [line["distance"] for line in read_log(tmp_path / "start", "step")]
    assert distances[-1] < 0.7 * distances[0]
    assert model.expansion.head.own.any() and not model.config.trained
    with pytest.raises(UsageError, match="the recipe names no dense_teacher"):
        fit_query_head(replace(small, dense_teacher=None), tmp_path / "none")


def test_logits_are_inner_products_with_the_terms_vectors(tiny_backbone: Path) -> None:
    """Except for what the layer norm removes of a token: its scale and one of 32 dimensions."""
    model = SpadeModel.from_backbone(tiny_backbone, SpadeConfig(max_length=32, decoder_rank=2))
    matrix = embeddings(model).detach()
    weights = torch.linspace(1, 3, len(matrix))
    vectors = TermVectors(matrix, 2, weights)
    with torch.no_grad():
        for parameter in (vectors.transform, vectors.own, vectors.shared):
            parameter.add_(torch.randn(parameter.shape) * 0.2)
    texts = ["the old cat sleeps", "a dog eats the fish"]
    install(vectors, model, texts)
    assert torch.allclose(model.query_weights, weights)
    term_ids = torch.arange(len(model.query_weights))
    with torch.no_grad():
        (hidden,) = hidden_states(model.expansion.backbone, *inputs(model, texts[:1]))
        expected = hidden @ torch.stack([vectors([term_id[None]])[0] for term_id in term_ids]).T
        decoder = model.expansion.head.decoder(matrix, slice(None))
        logits = model.expansion.head(hidden) @ decoder.T
    for row, reference in zip(logits, expected / weights, strict=True):
        assert torch.corrcoef(torch.stack([row, reference]))[0, 1] > 0.95


@pytest.mark.java
def test_forms_are_whole_words_of_one_stem() -> None:
    words = WordPieces.load(PRETRAINED / "spade-mini")
    forms = word_forms(words, words.vocabulary_size + 2)
    number = dict(zip(words.terms, forms.tolist(), strict=False))
    assert number["algorithm"] == number["algorithms"] > 0
    assert number["algorithm"] != number["river"]
    assert not any(number[term] for term in ("the", "##ing", "1998", "[MASK]", "us"))
    assert forms[-2:].tolist() == [0, 0]  # rows that only pad the embedding matrix


@pytest.mark.java
def test_training_sets_forms_or_keeps_those_of_the_model(recipe: Recipe, tmp_path: Path) -> None:
    first = train(replace(recipe, forms=0.5), tmp_path / "first")
    second = SpadeModel.from_pretrained(
        train(replace(recipe, init=str(first)), tmp_path / "second")
    )
    assert second.config.forms == 0.5 and second.forms is not None
    plain = replace(recipe, init=str(first), forms=0.0)
    third = SpadeModel.from_pretrained(train(plain, tmp_path / "third"))
    assert third.config.forms == 0.0 and third.forms is None


@pytest.mark.parametrize("saturate", [True, False])
def test_losses_use_the_weights_that_are_encoded(
    recipe: Recipe, tmp_path: Path, saturate: bool
) -> None:
    changed = replace(recipe, saturate=saturate, corpus_idf=0.5, idf="counted", flops=0.5)
    trainer = Trainer(changed, tmp_path / "run")
    objective, samples = trainer.objective, [0, 5, 3]
    docids = objective.documents(samples)
    vectors = torch.rand(len(docids), len(trainer.model.kept), requires_grad=True)
    weights = vectors * trainer.model.query_weights * objective.corpus_weights[0]
    expected = weights.log1p() if saturate else weights
    queries = query_vectors(trainer.model, objective._texts(samples))
    scores = objective._relevance(samples, queries, vectors)
    assert torch.allclose(scores, queries @ expected.T)
    parts = objective.loss(samples, docids, True, vectors)
    assert torch.isfinite(
        torch.autograd.grad(torch.stack([*parts.values()]).sum(), vectors)[0]
    ).all()
    plain = vectors.log1p() if saturate else vectors
    assert parts["flops"] == 0.5 * losses.flops_loss(plain)
    hardness = objective.hardness(samples, vectors[:3], vectors[-3:])
    pairs = torch.stack([scores.diagonal(), scores[:, -3:].diagonal()], dim=1)
    assert torch.allclose(hardness, -torch.log_softmax(pairs, dim=1)[:, 0])


def test_validation_scores_the_weights_that_are_encoded(
    tiny_model: SpadeModel, recipe: Recipe
) -> None:
    model = tiny_model.with_settings(saturate=True, alpha=0.3)
    assert recipe.dev_queries and recipe.dev_qrels
    dev = DevSet(
        DevCollection(recipe.corpus, recipe.dev_queries, recipe.dev_qrels), model.wordpieces
    )
    with torch.inference_mode():
        scores = dev.scores(model, (0.0, 0.3)).relevance[1]
    vectors = list(map(SpadeEncoder(model).named, sparse(weigh(model, dev.texts))))
    for row, topic in enumerate(dev.topics):
        terms = set(model.wordpieces.query_terms(topic.text))
        expected = [sum(vector.get(term, 0.0) for term in terms) for vector in vectors]
        assert scores[row].tolist() == pytest.approx(expected, rel=1e-4)
