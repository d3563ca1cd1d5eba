"""The loss of each system, compared with its equation computed in plain loops with `math`."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from spade_pyserini.train import Recipe
from spade_pyserini.train.systems.sparterm import POSITIVE
from spade_pyserini.train.systems.trainer import SystemTrainer
from tests.train.systems.recipes import trainer

SAMPLES = [0, 5, 3]


@torch.no_grad()
def batch(running: SystemTrainer) -> tuple[Tensor, dict[str, float]]:
    """Return the vectors of a batch and the parts of its loss."""
    running.model.eval()
    objective = running.objective
    rows = objective.encoder(SAMPLES)(objective.texts(SAMPLES))
    return rows, {name: part.item() for name, part in objective.loss(SAMPLES, rows).items()}


def in_batch(running: SystemTrainer, scores: list[list[float]]) -> float:
    """Return the mean of -log(e^s+ / sum e^s) over the queries of the batch.

    s+ is the score of the query's positive. The sum is over all documents of the batch except the
    query's other relevant documents.
    """
    docids, total = running.objective.documents(SAMPLES), 0.0
    for number, sample in enumerate(SAMPLES):
        relevant = running.objective.relevant[running.data.samples[sample].qid]
        kept = [
            score
            for place, score in enumerate(scores[number])
            if place == number or docids[place] not in relevant
        ]
        total -= scores[number][number] - math.log(sum(math.exp(score) for score in kept))
    return total / len(SAMPLES)


def pairwise(running: SystemTrainer, scores: list[list[float]]) -> float:
    docids, total = running.objective.documents(SAMPLES), 0.0
    for number, sample in enumerate(SAMPLES):
        positive = scores[number][number]
        negative = scores[number][docids.index(running.data.samples[sample].negatives[0])]
        total -= math.log(math.exp(positive) / (math.exp(positive) + math.exp(negative)))
    return total / len(SAMPLES)


def products(queries: list[list[float]], documents: list[list[float]]) -> list[list[float]]:
    return [
        [sum(x * y for x, y in zip(query, document, strict=True)) for document in documents]
        for query in queries
    ]


def boolean(running: SystemTrainer, rows: list[list[float]]) -> list[list[float]]:
    """Return the scores of boolean queries over WordPieces, [Q, D]."""
    texts = running.data.query_texts(SAMPLES)
    ids = [running.model.wordpieces.query_ids(text) for text in texts]
    return [[sum(row[term] for term in terms) for row in rows] for terms in ids]


def test_unicoil(recipe: Recipe, tmp_path: Path) -> None:
    running = trainer(recipe, "unicoil", tmp_path / "run")
    rows, parts = batch(running)
    queries, documents = rows[:3].tolist(), rows[3:].tolist()
    assert parts == {"ranking": pytest.approx(in_batch(running, products(queries, documents)))}
    wordpieces = running.model.wordpieces
    (ids,) = wordpieces.document_ids(running.data.query_texts(SAMPLES)[:1], 32)
    states = running.model.transformer(torch.tensor([ids]))[0][0]  # type: ignore[operator]
    expected = dict.fromkeys(range(rows.shape[1]), 0.0)
    for token, state in zip(ids, states, strict=True):
        weight = running.model.projection(state).item()  # type: ignore[operator]
        if wordpieces.terms[token] != "[CLS]":
            expected[token] += max(0.0, weight)
    assert queries[0] == pytest.approx(list(expected.values()), abs=1e-5)


def test_tildev2(recipe: Recipe, tmp_path: Path) -> None:
    running = trainer(recipe, "tildev2", tmp_path / "run")
    rows, parts = batch(running)
    assert len(rows) == 6 and rows[:, sorted(running.model.wordpieces.special_ids)].sum() == 0
    expected = in_batch(running, boolean(running, rows.tolist()))
    assert parts == {"ranking": pytest.approx(expected, rel=1e-5)}


def test_splade_max(recipe: Recipe, tmp_path: Path) -> None:
    running = trainer(recipe, "splade", tmp_path / "run", flops=0.3, query_flops=0.7)
    rows, parts = batch(running)
    queries, documents = rows[:3].tolist(), rows[3:].tolist()

    def flops(vectors: list[list[float]]) -> float:
        total = 0.0
        for term in range(len(vectors[0])):
            mean = sum(vector[term] for vector in vectors) / len(vectors)
            total += mean * mean
        return total

    expected = in_batch(running, products(queries, documents))
    assert parts["ranking"] == pytest.approx(expected, rel=1e-4)
    assert parts["flops"] == pytest.approx(0.3 * flops(documents), rel=1e-4)
    assert parts["query_flops"] == pytest.approx(0.7 * flops(queries), rel=1e-4)


def test_distilsplade_max(recipe: Recipe, tmp_path: Path) -> None:
    """The loss is the squared error of the margins between positive and negative."""
    taught = {"teacher": recipe.data.negatives, "loss": "margin_mse", "ranking_weight": 0.0}
    running = trainer(recipe, "splade", tmp_path / "run", **taught)
    rows, parts = batch(running)
    scores = products(rows[:3].tolist(), rows[3:].tolist())
    total = 0.0
    for number, sample in enumerate(SAMPLES):
        qid, positive, (negative,) = running.data.samples[sample]
        column = len(SAMPLES) + number
        margin = running.data.teacher[qid][positive] - running.data.teacher[qid][negative]
        total += (scores[number][number] - scores[number][column] - margin) ** 2
    assert parts["ranking"] == 0
    assert parts["distillation"] == pytest.approx(total / len(SAMPLES), rel=1e-4)


def test_deepimpact(recipe: Recipe, tmp_path: Path) -> None:
    running = trainer(recipe, "deepimpact", tmp_path / "run")
    _, parts = batch(running)
    model, data = running.model, running.data
    texts = data.query_texts(SAMPLES)
    scores: list[list[float]] = []
    for text in texts:
        scores.append([])
        for docid in running.objective.documents(SAMPLES):
            (ids,) = model.wordpieces.document_ids([data.documents[docid]], 32)
            states = model.transformer(torch.tensor([ids]))[0][0]  # type: ignore[operator]
            first: dict[str, float] = {}
            for word in model.wordpieces.words_of(ids):
                weight = model.head(states[word.start]).item()  # type: ignore[operator]
                first.setdefault(word.text, weight)
            words = set(model.wordpieces.words(text))
            scores[-1].append(sum(first.get(word, 0.0) for word in words))
    assert max(map(max, scores)) > 0
    assert parts == {"ranking": pytest.approx(pairwise(running, scores), rel=1e-4)}


def test_without_hard_negatives_another_positive_is_the_rival(
    recipe: Recipe, tmp_path: Path
) -> None:
    running = trainer(recipe, "deepimpact", tmp_path / "run", negatives=None)
    rows, parts = batch(running)
    words = running.objective.words(SAMPLES)  # type: ignore[attr-defined]
    columns = [
        [words.index(word) for word in running.model.wordpieces.words(text)]
        for text in running.data.query_texts(SAMPLES)
    ]
    total = 0.0
    for number, terms in enumerate(columns):
        good, bad = (rows[place][terms].sum().item() for place in (number, (number + 1) % 3))
        total -= math.log(math.exp(good) / (math.exp(good) + math.exp(bad)))
    assert len(rows) == 3
    assert parts == {"ranking": pytest.approx(total / 3, rel=1e-4)}


def test_deepct(recipe: Recipe, tmp_path: Path) -> None:
    running = trainer(recipe, "deepct", tmp_path / "run")
    rows, parts = batch(running)
    data, wordpieces = running.data, running.model.wordpieces
    words = running.objective.words(SAMPLES)  # type: ignore[attr-defined]
    total, count, targets = 0.0, 0, set()
    for row, sample in enumerate(SAMPLES):
        positive = data.samples[sample].positive
        queries = {x.qid for x in data.samples if x.positive == positive}
        (ids,) = wordpieces.document_ids([data.documents[positive]], 32)
        for word in {word.text for word in wordpieces.words_of(ids)}:
            containing = [x for x in queries if word in wordpieces.words(data.queries[x])]
            recall = len(containing) / len(queries)
            targets.add(recall)
            total += (rows[row, words.index(word)].item() - recall) ** 2
            count += 1
    assert len(rows) == 3 and targets >= {0.0}
    assert parts == {"regression": pytest.approx(total / count, rel=1e-4)}


def test_the_targets_of_deepct(recipe: Recipe, tmp_path: Path) -> None:
    """A word in one of two queries of the same document has recall 0.5."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text('{"id": "a", "contents": "the old cat sleeps"}\n')
    (folder / "queries.tsv").write_text("1\told cat\n2\tcat house\n")
    (folder / "qrels.txt").write_text("1 0 a 1\n2 0 a 1\n")
    own = {x: str(folder / y) for x, y in (("queries", "queries.tsv"), ("qrels", "qrels.txt"))}
    corpus = str(folder / "corpus.jsonl")
    changes = {**own, "corpus": corpus, "negatives": None, "dev_queries": "", "dev_qrels": ""}
    running = trainer(recipe, "deepct", tmp_path / "run", **changes)
    targets, present = running.objective.recalls([0])  # type: ignore[attr-defined]
    words = running.objective.words([0])  # type: ignore[attr-defined]
    assert dict(zip(words, targets[0].tolist(), strict=True)) == {
        **{"the": 0.0, "old": 0.5, "cat": 1.0, "sleeps": 0.0}
    }
    assert present.all()


def test_tilde(recipe: Recipe, tmp_path: Path) -> None:
    running = trainer(recipe, "tilde", tmp_path / "run")
    rows, parts = batch(running)
    data, wordpieces = running.data, running.model.wordpieces
    queries = data.query_texts(SAMPLES)
    documents = [data.documents[data.samples[sample].positive] for sample in SAMPLES]
    terms = [x for x in range(rows.shape[1]) if x not in wordpieces.special_ids]
    total = 0.0
    for row, other in enumerate([*documents, *queries]):  # rows: queries, then documents
        (own,) = wordpieces.document_ids([other], 32)
        for term in terms:
            likelihood = 1 / (1 + math.exp(-rows[row, term].item()))
            total -= math.log(likelihood if term in own else 1 - likelihood) / len(terms)
    assert len(rows) == 6
    assert parts == {"likelihood": pytest.approx(total / 6, rel=1e-4)}


def test_sparterm(recipe: Recipe, tmp_path: Path) -> None:
    running = trainer(recipe, "sparterm", tmp_path / "run", lambda_=0.5)
    rows, parts = batch(running)
    size = rows.shape[1] // 2
    vectors, gates = rows[:, :size].tolist(), rows[:, size:].tolist()
    expected = pairwise(running, products(vectors[:3], vectors[3:]))
    assert parts["ranking"] == pytest.approx(expected, rel=1e-3, abs=1e-6)
    total = 0.0
    for number, text in enumerate(running.data.query_texts(SAMPLES)):
        own = running.model.wordpieces.query_ids(text)
        for term, logit in enumerate(gates[3 + number]):
            opened = 1 / (1 + math.exp(-logit))
            total -= POSITIVE * math.log(opened) if term in own else math.log(1 - opened)
    assert parts["gates"] == pytest.approx(0.5 * total / size / 3, rel=1e-3)
