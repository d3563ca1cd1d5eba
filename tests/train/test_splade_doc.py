"""SPLADE-doc, the expansion encoder alone: vectors and loss, compared with literal loops."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeModel
from spade_pyserini.models import SpadeEncoder
from spade_pyserini.train import Recipe, load_recipe, train
from spade_pyserini.train.loop import Trainer
from spade_pyserini.train.run import Run
from tests.models.helpers import TEXTS, embeddings, hidden_states, inputs

NAMES = ("k", "warmup_steps", "lambda_", "flops", "strategy", "gammas", "saturate", "alphas")


@pytest.fixture
def splade_doc(recipe: Recipe) -> Recipe:
    """The recipe splade-doc on the tiny data."""
    values = load_recipe("splade-doc").flat()
    named = {key: value for key, value in values.items() if key.rpartition(".")[2] in NAMES}
    assert len(named) == len(NAMES)
    return recipe.change(**named, steps=4, dropout=0.0)


@torch.no_grad()
def test_the_vectors_are_those_of_splade(tiny_model: SpadeModel) -> None:
    model = tiny_model.with_settings(k=0, saturate=True, alpha=1.0)
    input_ids, mask = inputs(model)
    encoder, matrix = model.expansion, embeddings(model)
    states = hidden_states(encoder.backbone, input_ids, mask)
    vectors = SpadeEncoder(model).weigh(model.wordpieces.document_ids(TEXTS, 32))
    for document in range(len(TEXTS)):
        for term in range(len(matrix)):
            expected = 0.0
            for position in range(int(mask[document].sum())):
                row = encoder.head(states[document, position])
                logit = (matrix[term] @ row + encoder.head.bias[term]).item()
                expected = max(expected, math.log(1 + max(0.0, logit)))
            if term in model.wordpieces.special_ids:
                expected = 0.0
            assert vectors[document, term].item() == pytest.approx(expected, abs=1e-5)


def test_the_loss_is_ranking_and_flops(splade_doc: Recipe, tmp_path: Path) -> None:
    trainer = Trainer(Run("train", splade_doc, tmp_path / "run"))
    assert trainer.trained == ["expansion"] and trainer.pruning and not trainer.warming_up
    objective, samples = trainer.objective, [0, 5, 3]
    docids = objective.documents(samples)
    with torch.no_grad():
        raw = trainer.encode("expansion", objective.ids(docids))
        parts = objective.loss(samples, raw, expansion=True)
    weights = [[math.log(1 + x) for x in row] for row in raw.tolist()]
    ranking = 0.0
    for number, sample in enumerate(samples):
        qid = trainer.data.samples[sample].qid
        terms = trainer.model.wordpieces.query_ids(trainer.data.queries[qid])
        scores = [sum(row[term] for term in terms) for row in weights]
        others = [
            score
            for place, score in enumerate(scores)
            if place == number or docids[place] not in objective.relevant[qid]
        ]
        ranking -= scores[number] - math.log(sum(math.exp(score) for score in others))
    flops = 0.0
    for term in range(raw.shape[1]):
        mean = sum(row[term] for row in weights) / len(weights)
        flops += mean * mean
    assert parts["ranking"].item() == pytest.approx(ranking / len(samples), rel=1e-4)
    assert parts["flops"].item() == pytest.approx(1e-3 * flops, rel=1e-4)
    assert parts.get("pointwise", torch.zeros(1)).item() == 0


def test_a_trained_model_is_a_model_like_others(splade_doc: Recipe, tmp_path: Path) -> None:
    model = SpadeModel.from_pretrained(train(splade_doc, tmp_path / "run"))
    assert (model.config.k, model.config.alpha, model.config.saturate) == (0, 1.0, True)
    (vector,) = model.encode(["the old cat"])
    assert len(vector) > 3  # more than the document's own terms


def test_a_new_head_starts_with_few_terms(splade_doc: Recipe, tmp_path: Path) -> None:
    terms = []
    for number in (0, 12):
        recipe = splade_doc.change(start_terms=number)
        running = Trainer(Run("train", recipe, tmp_path / str(number)))
        ids = running.model.wordpieces.document_ids(list(running.data.documents.values()), 32)
        running.model.eval()
        with torch.no_grad():
            vectors = running.encode("expansion", ids)
        terms.append((vectors > 0).sum(dim=1).float().mean().item())
    assert terms[0] > 30 and 6 < terms[1] < 20
