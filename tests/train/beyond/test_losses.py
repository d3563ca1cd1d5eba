"""Losses beyond the paper, compared with literal computations in loops."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from spade_pyserini.train.beyond import losses
from spade_pyserini.train.losses import scores
from tests.train.conftest import DOCUMENTS, QUERIES, TERMS
from tests.train.test_losses import assert_same, product


def test_kl_and_margin_mse(queries: Tensor, documents: Tensor) -> None:
    teacher = torch.rand(QUERIES, DOCUMENTS, dtype=torch.float64) * 5
    divergence = torch.zeros((), dtype=torch.float64)
    margins = []
    for number in range(QUERIES):
        student = [product(queries[number], document) for document in documents]
        student_sum = sum(torch.exp(score) for score in student)
        teacher_sum = sum(math.exp(score) for score in teacher[number].tolist())
        for column in range(DOCUMENTS):
            p = math.exp(teacher[number, column].item()) / teacher_sum
            q = torch.exp(student[column]) / student_sum
            divergence = divergence + p * (math.log(p) - torch.log(q))
            if column:
                wanted = teacher[number, 0] - teacher[number, column]
                margins.append((student[0] - student[column] - wanted) ** 2)
    relevance = scores(queries, documents)
    assert_same(losses.kl_loss(relevance, teacher), divergence / QUERIES, documents)
    relevance = scores(queries, documents)
    ours = losses.margin_mse_loss(relevance, teacher)
    assert_same(ours, torch.stack(margins).sum() / len(margins), documents)


def test_flops(documents: Tensor) -> None:
    total = torch.zeros((), dtype=torch.float64)
    for term in range(TERMS):
        mean = sum(abs(document[term]) for document in documents) / DOCUMENTS
        total = total + mean**2
    assert_same(losses.flops_loss(documents), total, documents)
