"""Losses beyond the paper: distillation, and the regularizers of SPLADE."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional


def kl_loss(relevance: Tensor, teacher: Tensor) -> Tensor:
    """Kullback-Leibler divergence from the teacher's distribution over the same documents.

    relevance [Q, C], teacher [Q, C]: scores of the C candidates of each query.
    """
    student = functional.log_softmax(relevance, dim=-1)
    target = functional.log_softmax(teacher, dim=-1)
    return functional.kl_div(student, target, reduction="batchmean", log_target=True)


def margin_mse_loss(relevance: Tensor, teacher: Tensor) -> Tensor:
    """Squared error of the margins between the first candidate (the positive) and the others.

    relevance [Q, C], teacher [Q, C]: scores of the C candidates of each query. C is at least 2.
    """
    student = relevance[:, :1] - relevance[:, 1:]
    target = teacher[:, :1] - teacher[:, 1:]
    return functional.mse_loss(student, target)


def flops_loss(documents: Tensor) -> Tensor:
    """The FLOPS regularizer of vectors [D, |V|]: the sum over terms of the squared mean weight."""
    return documents.abs().mean(dim=0).square().sum()


def l1_loss(documents: Tensor) -> Tensor:
    """The L1 regularizer of vectors [D, |V|]: the mean over documents of the sum of weights."""
    return documents.abs().sum(dim=1).mean()
