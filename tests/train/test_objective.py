"""The loss of a batch."""

from __future__ import annotations

from pathlib import Path

import torch

from spade_pyserini.models.tensors import pad_batch
from spade_pyserini.train import Recipe
from spade_pyserini.train.data import load_training_data
from spade_pyserini.train.extension import Extensions
from spade_pyserini.train.initial_model import start_model
from spade_pyserini.train.loop import Trainer
from spade_pyserini.train.objective import Objective
from spade_pyserini.train.queries import query_vectors
from spade_pyserini.train.run import Run


def test_relevant_documents_are_not_mined_as_negatives(recipe: Recipe, tmp_path: Path) -> None:
    trainer = Trainer(Run("train", recipe, tmp_path / "run"))
    objective, samples = trainer.objective, [0, 5, 3]
    docids = objective.documents(samples)
    vectors = torch.rand(len(docids), len(trainer.model.kept))
    before = objective.loss(samples, vectors, expansion=False)["ranking"]
    qid = trainer.data.samples[0].qid
    objective.relevant[qid] = {docids[0], docids[1]}
    after = objective.loss(samples, vectors, expansion=False)["ranking"]
    assert after < before  # the query has one negative fewer
    objective.relevant[qid] = {docids[0]}
    assert objective.loss(samples, vectors, expansion=False)["ranking"] == before


def test_the_pointwise_loss_ignores_removed_query_terms(recipe: Recipe) -> None:
    """A query whose terms were all removed from the vocabulary has a loss of 0."""
    data, model = load_training_data(recipe), start_model(recipe)
    objective = Objective(recipe, data, model, Extensions([]))
    samples = [0, 1]
    docids = objective.documents(samples)
    with torch.no_grad():
        vectors = sum(model(*pad_batch(objective.ids(docids), torch.device("cpu"))))
        before = objective.loss(samples, vectors, expansion=True)["pointwise"]
        model.kept &= ~query_vectors(model, data.query_texts(samples)).any(dim=0)
        after = objective.loss(samples, vectors, expansion=True)["pointwise"]
    assert before > 0 == after
