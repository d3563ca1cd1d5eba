"""Each equation against a literal, slow computation: loops over numbers, forward and gradient."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from spade_pyserini.train import losses

QUERIES, DOCUMENTS, TERMS = 3, 7, 11


@pytest.fixture
def queries() -> Tensor:
    chance = torch.Generator().manual_seed(1)
    return (torch.rand(QUERIES, TERMS, generator=chance, dtype=torch.float64) < 0.4).double()


@pytest.fixture
def documents() -> Tensor:
    chance = torch.Generator().manual_seed(2)
    vectors = torch.rand(DOCUMENTS, TERMS, generator=chance, dtype=torch.float64) * 3
    return vectors.requires_grad_()


def product(query: Tensor, document: Tensor) -> Tensor:
    total = torch.zeros((), dtype=torch.float64)
    for one, other in zip(query, document, strict=True):
        total = total + one * other
    return total


def assert_same(ours: Tensor, literal: Tensor, documents: Tensor) -> None:
    assert torch.allclose(ours, literal)
    (expected,) = torch.autograd.grad(literal, documents, retain_graph=True)
    (found,) = torch.autograd.grad(ours, documents)
    assert torch.allclose(found, expected)
    assert expected.abs().sum() > 0


def test_equation_11(queries: Tensor, documents: Tensor) -> None:
    total = torch.zeros((), dtype=torch.float64)
    for number in range(QUERIES):  # the positive of query i is document i
        every = [torch.exp(product(queries[number], document)) for document in documents]
        total = total - torch.log(every[number] / sum(every))
    relevance = losses.scores(queries, documents)
    ours = losses.ranking_loss(relevance, torch.arange(QUERIES))
    assert_same(ours, total / QUERIES, documents)


def test_the_pointwise_term_of_equation_12(queries: Tensor, documents: Tensor) -> None:
    total = torch.zeros((), dtype=torch.float64)
    for number in range(QUERIES):
        whole = sum(torch.exp(weight) for weight in documents[number])
        for term in range(TERMS):
            likelihood = torch.log(torch.exp(documents[number, term]) / whole)
            total = total - queries[number, term] * likelihood
    ours = losses.pointwise_loss(queries, documents[:QUERIES])
    assert_same(ours, total / QUERIES, documents)


def test_kl_and_margin_mse(queries: Tensor, documents: Tensor) -> None:
    teacher = torch.rand(QUERIES, DOCUMENTS, dtype=torch.float64) * 5
    divergence = torch.zeros((), dtype=torch.float64)
    margins = []
    for number in range(QUERIES):
        student = [product(queries[number], document) for document in documents]
        student_sum = sum(torch.exp(score) for score in student)
        teacher_sum = sum(math.exp(score) for score in teacher[number].tolist())
        for place in range(DOCUMENTS):
            p = math.exp(teacher[number, place].item()) / teacher_sum
            q = torch.exp(student[place]) / student_sum
            divergence = divergence + p * (math.log(p) - torch.log(q))
            if place:
                wanted = teacher[number, 0] - teacher[number, place]
                margins.append((student[0] - student[place] - wanted) ** 2)
    relevance = losses.scores(queries, documents)
    assert_same(losses.kl_loss(relevance, teacher), divergence / QUERIES, documents)
    relevance = losses.scores(queries, documents)
    ours = losses.margin_mse_loss(relevance, teacher)
    assert_same(ours, torch.stack(margins).sum() / len(margins), documents)


def test_flops(documents: Tensor) -> None:
    total = torch.zeros((), dtype=torch.float64)
    for term in range(TERMS):
        mean = sum(abs(document[term]) for document in documents) / DOCUMENTS
        total = total + mean**2
    assert_same(losses.flops_loss(documents), total, documents)


def test_hardness_is_the_loss_against_the_own_negative(queries: Tensor, documents: Tensor) -> None:
    positives, negatives = documents[:QUERIES], documents[QUERIES : 2 * QUERIES]
    found = losses.hardness(queries, positives, negatives)
    for number in range(QUERIES):
        good = math.exp(product(queries[number], positives[number]).item())
        bad = math.exp(product(queries[number], negatives[number]).item())
        assert math.isclose(found[number].item(), -math.log(good / (good + bad)))
