"""The losses of the paper, compared with literal loops: values and gradients."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from spade_pyserini.train import losses
from tests.train.conftest import QUERIES, TERMS


def product(query: Tensor, document: Tensor) -> Tensor:
    """Compute Eq. 1, the inner product, as a loop over the vocabulary."""
    total = torch.zeros((), dtype=torch.float64)
    for is_term, weight in zip(query, document, strict=True):
        total = total + is_term * weight
    return total


def assert_same(ours: Tensor, literal: Tensor, documents: Tensor) -> None:
    """Check that both losses have the same value and the same gradient, which is not 0."""
    assert torch.allclose(ours, literal)
    (expected,) = torch.autograd.grad(literal, documents, retain_graph=True)
    (gradient,) = torch.autograd.grad(ours, documents)
    assert torch.allclose(gradient, expected)
    assert expected.abs().sum() > 0


def test_equation_11(queries: Tensor, documents: Tensor) -> None:
    total = torch.zeros((), dtype=torch.float64)
    for number in range(QUERIES):  # the positive of query i is document i
        exponentials = [torch.exp(product(queries[number], document)) for document in documents]
        total = total - torch.log(exponentials[number] / sum(exponentials))
    relevance = losses.scores(queries, documents)
    ours = losses.ranking_loss(relevance, torch.arange(QUERIES))
    assert_same(ours, total / QUERIES, documents)


def test_the_pointwise_term_of_equation_12(queries: Tensor, documents: Tensor) -> None:
    total = torch.zeros((), dtype=torch.float64)
    for number in range(QUERIES):
        normalizer = sum(torch.exp(weight) for weight in documents[number])
        for term in range(TERMS):
            likelihood = torch.log(torch.exp(documents[number, term]) / normalizer)
            total = total - queries[number, term] * likelihood
    ours = losses.pointwise_loss(queries, documents[:QUERIES])
    assert_same(ours, total / QUERIES, documents)


def test_the_loss_of_a_sample_is_equation_11_with_its_own_negative(
    queries: Tensor, documents: Tensor
) -> None:
    positives, negatives = documents[:QUERIES], documents[QUERIES : 2 * QUERIES]
    good, bad = (losses.pair_scores(queries, vectors) for vectors in (positives, negatives))
    values = losses.sample_losses(good, bad)
    for number in range(QUERIES):
        own = math.exp(product(queries[number], positives[number]).item())
        other = math.exp(product(queries[number], negatives[number]).item())
        assert math.isclose(values[number].item(), -math.log(own / (own + other)))
