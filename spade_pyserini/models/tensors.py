"""Conversions to and from the tensors of a batch: padded token ids, sparse vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

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
    """A vector without its zeros.

    terms: the columns of the non-zero values, in ascending order. For most models, a column is a
    vocabulary id. values: the value in each of these columns.
    """

    terms: Tensor
    values: Tensor


def sparse(vectors: Tensor) -> list[SparseVector]:
    """Split vectors [batch, |V|] into sparse vectors on the CPU, one per row."""
    rows, terms = vectors.nonzero(as_tuple=True)
    values = vectors[rows, terms].cpu()
    sizes = torch.bincount(rows, minlength=len(vectors)).tolist()
    return list(map(SparseVector, torch.split(terms.cpu(), sizes), torch.split(values, sizes)))


def named(terms: Sequence[str], vector: SparseVector) -> dict[str, Any]:
    """Return the values of a sparse vector by term; ``terms[i]`` is the term of column i."""
    pairs = zip(vector.terms.tolist(), vector.values.tolist(), strict=True)
    return {terms[column]: value for column, value in pairs}
