"""Between texts, vectors over the vocabulary, and what is kept of them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


def pad_batch(batch: list[list[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """WordPiece ids as a tensor and its attention mask, [batch, length] each."""
    input_ids = torch.zeros(len(batch), max(map(len, batch)), dtype=torch.long)
    mask = torch.zeros_like(input_ids)
    for row, ids in enumerate(batch):
        input_ids[row, : len(ids)] = torch.tensor(ids)
        mask[row, : len(ids)] = 1
    return input_ids.to(device), mask.to(device)


def mix(weighting: Tensor, expansion: Tensor, alpha: float, saturate: bool = False) -> Tensor:
    """Eq. 10, and the logarithm of the sum where weights saturate."""
    mixed = (1 - alpha) * weighting + alpha * expansion
    return mixed.log1p() if saturate else mixed


class SparseVector(NamedTuple):
    """The numbers of the terms that are not zero, ascending, and their values."""

    terms: Tensor
    values: Tensor


def sparse(vectors: Tensor) -> list[SparseVector]:
    """Vectors [batch, |V|] one by one, without their zeros, in the CPU's memory."""
    rows, terms = vectors.nonzero(as_tuple=True)
    values = vectors[rows, terms].cpu()
    sizes = torch.bincount(rows, minlength=len(vectors)).tolist()
    return list(map(SparseVector, torch.split(terms.cpu(), sizes), torch.split(values, sizes)))
