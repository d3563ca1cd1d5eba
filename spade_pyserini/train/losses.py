"""The losses of the paper (Eq. 11 and 12) and those that came after it.

Documents are vectors over the vocabulary, ``documents`` [D, |V|]; queries are boolean vectors,
``queries`` [Q, |V|], of 0 and 1. All losses are means over the queries.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def scores(queries: Tensor, documents: Tensor) -> Tensor:
    """Inner products [Q, D]: the relevance of every document for every query."""
    return queries @ documents.T


def ranking_loss(relevance: Tensor, positives: Tensor) -> Tensor:
    """Negative log likelihood of the positive document (Eq. 11, first term of Eq. 12).

    relevance [Q, D]; positives [Q], the column of each query's positive. All other columns are
    its negatives: those given for it, and those in the batch.
    """
    return functional.cross_entropy(relevance, positives)


def pointwise_loss(queries: Tensor, positives: Tensor) -> Tensor:
    """The query's terms should be likely in its positive document (second term of Eq. 12).

    queries [Q, |V|], positives [Q, |V|]: the vectors of the positive documents.
    """
    likelihood = functional.log_softmax(positives, dim=-1)
    return -(queries * likelihood).sum(dim=-1).mean()


def kl_loss(relevance: Tensor, teacher: Tensor) -> Tensor:
    """Kullback-Leibler divergence from the teacher's distribution over the same documents.

    relevance [Q, C], teacher [Q, C]: scores for the same candidates of each query.
    """
    student = functional.log_softmax(relevance, dim=-1)
    target = functional.log_softmax(teacher, dim=-1)
    return functional.kl_div(student, target, reduction="batchmean", log_target=True)


def margin_mse_loss(relevance: Tensor, teacher: Tensor) -> Tensor:
    """Squared error of the margins between the first candidate, the positive, and the others.

    relevance [Q, C], teacher [Q, C], C of 2 or more.
    """
    student = relevance[:, :1] - relevance[:, 1:]
    target = teacher[:, :1] - teacher[:, 1:]
    return functional.mse_loss(student, target)


def flops_loss(documents: Tensor) -> Tensor:
    """The FLOPS regularizer: sum over terms of the squared mean weight, [D, |V|] to a number."""
    return documents.abs().mean(dim=0).square().sum()


def hardness(queries: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
    """The loss of each sample alone, against its own negative, [Q]: what co-training sorts by."""
    pair = torch.stack([(queries * positives).sum(-1), (queries * negatives).sum(-1)], dim=-1)
    return -functional.log_softmax(pair, dim=-1)[:, 0]
