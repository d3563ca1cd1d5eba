"""Models whose weights saturate: the same everywhere that weights are mixed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeModel, encode_corpus, open_corpus, read_vectors
from spade_pyserini.analysis.sweep.setting import Components
from spade_pyserini.train import losses
from spade_pyserini.train.loop import Trainer
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.settings import DevCollection
from spade_pyserini.train.dev_set import DevSet
from spade_pyserini.train.queries import query_vectors

TEXTS = ["the old cat sleeps in the tree", "delete a folder", "a red fish"]


@pytest.fixture
def model(tiny_model_folder: Path) -> SpadeModel:
    model = SpadeModel.from_pretrained(tiny_model_folder)
    model.reconfigure(saturate=True)
    return model


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_weights_are_logarithms(model: SpadeModel, alpha: float) -> None:
    ids = model.wordpieces.document_ids(TEXTS, 32)
    model.reconfigure(alpha=alpha)
    saturated = model.weigh(ids)
    model.reconfigure(saturate=False)
    plain = model.weigh(ids)
    assert plain.max() > 0.5
    assert torch.allclose(saturated, torch.log1p(plain))


def test_it_is_saved_with_the_model(model: SpadeModel, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    assert SpadeModel.from_pretrained(tmp_path).encode(TEXTS) == model.encode(TEXTS)


def test_explanations_add_up(model: SpadeModel) -> None:
    found = model.explain(TEXTS[0])
    assert any(one.expansion and one.weighting for one in found)
    for one in found:
        assert one.weighting + one.expansion == pytest.approx(one.impact, abs=0.51)


def test_a_sweep_mixes_as_the_model_does(
    model: SpadeModel, tiny_corpus: Path, tmp_path: Path
) -> None:
    corpus = open_corpus(str(tiny_corpus))
    encode_corpus(corpus, model, tmp_path / "one", components=True)
    model.reconfigure(alpha=0.3)
    encode_corpus(corpus, model, tmp_path / "other")
    Components(tmp_path / "one", [0.3]).write_vectors(tmp_path / "mixed", 0.3, set(), 40.0)
    assert dict(read_vectors(tmp_path / "mixed")) == dict(read_vectors(tmp_path / "other"))


@pytest.mark.parametrize("saturate", [True, False])
def test_losses_are_on_what_is_encoded(recipe: Recipe, tmp_path: Path, saturate: bool) -> None:
    changed = recipe.change(saturate=saturate, corpus_idf=0.5, idf="counted", flops=0.5)
    trainer = Trainer(changed, tmp_path / "run")
    objective, places = trainer.objective, [0, 5, 3]
    docids = objective.documents(places)
    vectors = torch.rand(len(docids), len(trainer.model.kept), requires_grad=True)
    worth = trainer.model.query_weights * objective.corpus_weights[0]
    wanted = (vectors * worth).log1p() if saturate else vectors * worth
    queries = query_vectors(trainer.model, objective._texts(places))
    scores = objective._relevance(places, queries, vectors)
    assert torch.allclose(scores, queries @ wanted.T)
    parts = objective.loss(places, docids, True, vectors)
    assert torch.isfinite(
        torch.autograd.grad(torch.stack([*parts.values()]).sum(), vectors)[0]
    ).all()
    plain = vectors.log1p() if saturate else vectors
    assert parts["flops"] == 0.5 * losses.flops_loss(plain)
    hard = objective.hardness(places, vectors[:3], vectors[-3:])
    pairs = torch.stack([scores.diagonal(), scores[:, -3:].diagonal()], dim=1)
    assert torch.allclose(hard, -torch.log_softmax(pairs, dim=1)[:, 0])


def test_validation_scores_what_is_encoded(model: SpadeModel, recipe: Recipe) -> None:
    assert recipe.validation.dev_queries and recipe.validation.dev_qrels
    dev = DevSet(
        DevCollection(
            recipe.data.corpus, recipe.validation.dev_queries, recipe.validation.dev_qrels
        ),
        model.wordpieces,
    )
    model.reconfigure(alpha=0.3)
    with torch.inference_mode():
        found = dev.scores(model, (0.0, 0.3)).relevance[1]
    vectors = model.by_term(model.weigh(model.wordpieces.document_ids(dev.texts, 32)))
    for row, topic in enumerate(dev.topics):
        terms = set(model.wordpieces.query_terms(topic.text))
        wanted = [sum(vector.get(term, 0.0) for term in terms) for vector in vectors]
        assert found[row].tolist() == pytest.approx(wanted, rel=1e-4)
