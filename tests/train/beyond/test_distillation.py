"""Distillation: training with the scores of a teacher."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.models.bi_encoder import BiEncoder, open_bi_encoder
from spade_pyserini.train import Recipe, train
from spade_pyserini.train.beyond import extensions
from spade_pyserini.train.beyond.distillation import DenseDistillation
from spade_pyserini.train.data import load_training_data
from spade_pyserini.train.extension_settings import Teacher
from spade_pyserini.train.log import read_log
from spade_pyserini.train.loop import Trainer
from spade_pyserini.train.run import Run


@pytest.mark.parametrize("distillation", ["kl", "margin_mse"])
def test_learning_from_a_dense_teacher(recipe: Recipe, tmp_path: Path, distillation: str) -> None:
    taught = recipe.change(
        dense_teacher="minilm",
        loss=distillation,
        ranking_weight=0.0,
        lambda_=0.0,
        strategy="expansion",
        steps=40,
        warmup_steps=40,
        validate_every=40,
    )
    train(taught, tmp_path / "run")
    steps = read_log(tmp_path / "run", "step")
    values = [line["expansion_batch_distillation"] for line in steps]
    assert sum(values[-8:]) < 0.9 * sum(values[:8])
    assert all(line["expansion_ranking"] == 0 for line in steps)


def test_the_positive_comes_first_for_the_teacher(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    taught = recipe.change(dense_teacher="minilm", teacher_bm25=0.5)
    trainer = Trainer(Run("train", taught, tmp_path / "run"))
    objective, samples = trainer.objective, [0, 5, 3]
    docids = objective.documents(samples)
    (distillation,) = objective.extensions.extensions
    assert isinstance(distillation, DenseDistillation)
    marks = torch.arange(3 * len(docids)).view(3, -1).float()
    student, teacher = distillation.candidates(samples, docids, marks)
    assert student[:, 0].tolist() == [marks[row, row].item() for row in range(3)]
    assert sorted(student[1].tolist()) == marks[1].tolist()
    dense, (bm25,) = distillation.dense, distillation.bm25
    texts = [trainer.data.documents[docid] for docid in docids]
    assert bm25.scores(list(trainer.data.queries.values()), texts).max() > 0
    for row, number in enumerate(samples):
        sample = trainer.data.samples[number]
        query, text = trainer.data.queries[sample.qid], trainer.data.documents[sample.positive]
        both = 20 * dense.scores([query], [text]) + 0.5 * bm25.scores([query], [text])
        assert teacher[row, 0].item() == pytest.approx(both.item())


@pytest.mark.parametrize("distillation", ["kl", "margin_mse"])
def test_distillation_follows_the_teacher(
    recipe: Recipe, tmp_path: Path, distillation: str
) -> None:
    """The loss falls even if the teacher scores the positives below the negatives."""
    data = load_training_data(recipe)
    with (tmp_path / "teacher.txt").open("w") as stream:
        pairs: dict[tuple[str, str], float] = {}
        for sample in data.samples:
            pairs |= {(sample.qid, docid): 9.0 for docid in sample.negatives}
            pairs[sample.qid, sample.positive] = 1.0
        for (qid, docid), score in pairs.items():
            stream.write(f"{qid} Q0 {docid} 1 {score} x\n")
    taught = recipe.change(
        teacher=str(tmp_path / "teacher.txt"),
        loss=distillation,
        distillation_weight=100.0,
        strategy="expansion",
        steps=40,
        warmup_steps=40,
    )
    train(taught, tmp_path / "run")
    values = [line["expansion_distillation"] for line in read_log(tmp_path / "run", "step")]
    assert sum(values[-5:]) < 0.85 * sum(values[:5])
    (tmp_path / "teacher.txt").write_text("q0 Q0 d0 1 3 x\n")
    with pytest.raises(InputError, match="no score of 'd2' for the query 'q0'"):
        load_training_data(taught)


def test_a_dense_teacher_and_a_run_are_learned_from_together(
    recipe: Recipe, tmp_path: Path
) -> None:
    data = load_training_data(recipe)
    lines = {
        f"{sample.qid} Q0 {docid} 1 1 x\n"
        for sample in data.samples
        for docid in (sample.positive, *sample.negatives)
    }
    (tmp_path / "teacher.txt").write_text("".join(sorted(lines)))
    both = recipe.change(
        teacher=str(tmp_path / "teacher.txt"),
        dense_teacher="no-such/teacher",
        steps=1,
        warmup_steps=1,
    )
    with pytest.raises(NotFoundError, match="the dense model 'no-such/teacher' cannot be loaded"):
        train(both, tmp_path / "unknown")
    parts = {}
    for weight in (0.5, 1.0):
        run = both.change(dense_teacher="minilm", dense_weight=weight)
        train(run, tmp_path / f"run{weight}")
        (parts[weight],) = read_log(tmp_path / f"run{weight}", "step")
    full, halved = parts[1.0], parts[0.5]
    assert halved["weighting_distillation"] == full["weighting_distillation"]
    dense = "weighting_batch_distillation"
    assert halved[dense] == pytest.approx(full[dense] / 2)


def test_a_listed_teacher_is_opened_with_its_settings(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []

    def record(*options: object) -> BiEncoder:
        opened.append(options)
        return open_bi_encoder(*options)  # type: ignore[arg-type]

    monkeypatch.setattr(extensions, "open_bi_encoder", record)
    listed = Teacher("minilm", "bi-encoder", max_length=12, query_prefix="query: ")
    (tmp_path / "run").mkdir()
    changed = recipe.change(dense_teacher="minilm", teachers=(listed,))
    Trainer(Run("train", changed, tmp_path / "run"))
    assert opened == [("minilm", 12, "mean", "query: ")]
