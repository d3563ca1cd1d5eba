"""The pool of queries: the loss, the chosen queries, training and its cache."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from spade_pyserini.errors import UsageError
from spade_pyserini.train import Recipe, make_recipe, train
from spade_pyserini.train.beyond.query_pool import QueryPool, pool_loss
from spade_pyserini.train.beyond.score_cache import ScoreCache
from spade_pyserini.train.extension import ScoredBatch
from spade_pyserini.train.extension_settings import Teacher
from spade_pyserini.train.log import read_log
from spade_pyserini.train.loop import Trainer
from spade_pyserini.train.run import Run

MINILM = Teacher("minilm", "bi-encoder", weight=20.0, max_length=32)
CROSS = Teacher("no-such/model", "cross-encoder")


def literal_kl(student: list[float], teacher: list[float]) -> float:
    """The divergence of two lists of scores, computed term by term."""
    p = [math.exp(x) / sum(map(math.exp, teacher)) for x in teacher]
    q = [math.exp(x) / sum(map(math.exp, student)) for x in student]
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True))


def test_the_loss_is_the_sum_of_two_divergences() -> None:
    student = [[1.0, 2.0, 0.5], [0.0, 3.0, 1.0]]
    teacher = [[2.0, 0.0, 1.0], [1.0, 1.5, 0.0]]
    by_query = sum(map(literal_kl, student, teacher)) / 2

    def centred_columns(rows: list[list[float]]) -> list[list[float]]:
        centred = [[x - sum(row) / len(row) for x in row] for row in rows]
        return [list(column) for column in zip(*centred, strict=True)]

    columns = map(literal_kl, centred_columns(student), centred_columns(teacher))
    expected = by_query + sum(columns) / 3
    loss = pool_loss(torch.tensor(student), torch.tensor(teacher))
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    assert pool_loss(torch.tensor(teacher), torch.tensor(teacher)).item() == pytest.approx(0)


def open_pool(recipe: Recipe, folder: Path) -> tuple[Trainer, QueryPool]:
    folder.mkdir()
    trainer = Trainer(Run("train", recipe, folder))
    pools = [x for x in trainer.objective.extensions.extensions if isinstance(x, QueryPool)]
    return trainer, pools[0]


def test_the_nearest_queries_and_the_scores_of_the_teachers(recipe: Recipe, tmp_path: Path) -> None:
    """The loss of a batch equals the loss that the test computes pair by pair."""
    (tmp_path / "more.tsv").write_text("x1\ta dog in the garden\nx2\tthe old cat\n")
    taught = recipe.change(
        pool=(str(tmp_path / "more.tsv"),),
        pool_queries=2,
        pool_weight=0.5,
        teacher_bm25=0.3,
        teachers=(MINILM, CROSS),
    )
    trainer, pool = open_pool(taught, tmp_path / "run")
    texts = list(dict.fromkeys([*trainer.data.queries.values(), "a dog in the garden"]))
    wordpieces = trainer.model.wordpieces
    bags = [sorted(wordpieces.query_ids(text)) for text in texts]
    assert all(bag in [sorted(x.tolist()) for x in pool.queries] for bag in bags)

    samples = [0, 3]
    docids = trainer.objective.documents(samples)
    documents = torch.rand(len(docids), len(trainer.model.kept), generator=torch.manual_seed(0))
    queries = trainer.objective.queries(samples)
    relevance = queries @ documents.T
    batch = ScoredBatch(samples, docids, queries, documents, relevance, True, True)

    rows = [pool.rows[docid] for docid in docids]
    cosines = pool.embeddings.queries @ pool.embeddings.documents[rows].T
    chosen = sorted({int(x) for column in cosines.T for x in column.argsort()[-2:]})
    student = [[sum(d[pool.queries[q]]).item() for d in documents] for q in chosen]
    bm25 = pool.bm25[0].vectors([trainer.data.documents[docid] for docid in docids])
    teacher = [
        [
            cosines[q, n].item() + 0.3 * sum(vector[pool.queries[q]]).item()
            for n, vector in enumerate(bm25)
        ]
        for q in chosen
    ]
    expected = 0.5 * pool_loss(torch.tensor(student), torch.tensor(teacher)).item()
    assert pool.losses(batch)["pool"].item() == pytest.approx(expected, rel=1e-4)
    assert (bm25 > 0).any() and len(chosen) > 1


def test_training_with_a_pool_alone(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loss falls, and a second run reads the embeddings of the first from its cache."""
    taught = recipe.change(
        pool_queries=4,
        teachers=(MINILM,),
        ranking_weight=0.0,
        lambda_=0.0,
        strategy="expansion",
        steps=40,
        warmup_steps=40,
        validate_every=40,
    )
    train(taught, tmp_path / "run")
    values = [line["expansion_pool"] for line in read_log(tmp_path / "run", "step")]
    assert sum(values[-8:]) < 0.9 * sum(values[:8])

    def fail() -> Any:
        raise AssertionError("the embeddings are computed again")

    get = ScoreCache.get
    monkeypatch.setattr(ScoreCache, "get", lambda cache, key, _: get(cache, key, fail))
    (tmp_path / "again").mkdir()
    (tmp_path / "run" / "cache").rename(tmp_path / "again" / "cache")
    train(taught.change(steps=1, warmup_steps=1), tmp_path / "again")


def test_settings_that_miss_something(recipe: Recipe, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="pool needs pool_queries"):
        make_recipe(pool=("open-questions",))
    with pytest.raises(UsageError, match="teacher_bm25 needs a dense_teacher or a pool"):
        make_recipe(teacher_bm25=0.1)
    with pytest.raises(UsageError, match="pool_queries needs a bi-encoder"):
        train(recipe.change(pool_queries=4, teachers=(CROSS,)), tmp_path / "run")
