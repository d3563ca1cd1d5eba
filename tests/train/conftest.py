"""Vectors of queries and documents for the tests of losses."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

QUERIES, DOCUMENTS, TERMS = 3, 7, 11


@pytest.fixture
def queries() -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return (torch.rand(QUERIES, TERMS, generator=generator, dtype=torch.float64) < 0.4).double()


@pytest.fixture
def documents() -> Tensor:
    generator = torch.Generator().manual_seed(2)
    vectors = torch.rand(DOCUMENTS, TERMS, generator=generator, dtype=torch.float64) * 3
    return vectors.requires_grad_()
