"""Query templates in training."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from spade_pyserini.errors import UsageError
from spade_pyserini.train import Recipe, make_recipe
from spade_pyserini.train.beyond.extensions import extend
from spade_pyserini.train.beyond.query_templates import TEMPLATES, apply_template
from spade_pyserini.train.beyond.teachers import DenseTeacher
from spade_pyserini.train.data import load_training_data
from spade_pyserini.train.initial_model import start_model
from spade_pyserini.train.objective import Objective
from spade_pyserini.train.queries import query_vectors
from spade_pyserini.train.run import Run


def test_a_share_of_the_queries_is_put_into_templates() -> None:
    assert all(template.count("{}") == 1 for template in TEMPLATES)
    qids = [f"q{number}" for number in range(2000)]
    texts = [apply_template(qid, "a {b} c", 0.25) for qid in qids]
    changed = [text for text in texts if text != "a {b} c"]
    assert 400 < len(changed) < 600
    assert all("a {b} c" in text for text in changed)
    assert len(set(changed)) == len(TEMPLATES)
    assert texts == [apply_template(qid, "a {b} c", 0.25) for qid in qids]
    assert {apply_template(qid, "x", 0.0) for qid in qids} == {"x"}
    assert "x" not in {apply_template(qid, "x", 1.0) for qid in qids}
    with pytest.raises(UsageError, match="template_share must be from 0 to 1"):
        make_recipe(template_share=1.5)


def test_the_model_gets_queries_in_templates_and_the_teacher_without(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The query vectors of the loss contain templates; the teacher gets queries without them."""
    changed = recipe.change(template_share=1.0, dense_teacher="minilm")
    data = load_training_data(changed)
    model, extensions = extend(Run("train", changed, tmp_path), data, start_model(changed))
    objective = Objective(changed, data, model, extensions)
    samples = [0, 5, 3]
    plain = data.query_texts(samples)
    templated = [
        apply_template(data.samples[x].qid, data.queries[data.samples[x].qid], 1.0) for x in samples
    ]
    assert torch.equal(objective.queries(samples), query_vectors(model, templated))
    assert not torch.equal(objective.queries(samples), query_vectors(model, plain))
    taught: list[list[str]] = []
    scores = DenseTeacher.scores

    def record(teacher: DenseTeacher, queries: list[str], documents: list[str]) -> torch.Tensor:
        taught.append(queries)
        return scores(teacher, queries, documents)

    monkeypatch.setattr(DenseTeacher, "scores", record)
    vectors = torch.rand(len(objective.documents(samples)), len(model.kept))
    assert "batch_distillation" in objective.loss(samples, vectors, expansion=False)
    assert taught == [plain]
