"""Conversions to and from the tensors of a batch: padded token ids, sparse vectors."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


def pad_batch(batch: list[list[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return WordPiece ids padded with 0 and their attention mask, [batch, length] each."""
    input_ids = torch.zeros(len(batch), max(map(len, batch)), dtype=torch.long)
    mask = torch.zeros_like(input_ids)
    for row, ids in enumerate(batch):
        input_ids[row, : len(ids)] = torch.tensor(ids)
        mask[row, : len(ids)] = 1
    return input_ids.to(device), mask.to(device)


class SparseVector(NamedTuple):
    """The vocabulary ids of the non-zero terms of a vector, ascending, and their values."""

    terms: Tensor
    values: Tensor


def sparse(vectors: Tensor) -> list[SparseVector]:
    """Split vectors [batch, |V|] into sparse vectors on the CPU, one per row."""
    rows, terms = vectors.nonzero(as_tuple=True)
    values = vectors[rows, terms].cpu()
    sizes = torch.bincount(rows, minlength=len(vectors)).tolist()
    return list(map(SparseVector, torch.split(terms.cpu(), sizes), torch.split(values, sizes)))
