"""Weights to impacts: linear, one scale for the whole collection."""

from __future__ import annotations

import torch
from torch import Tensor


def largest_impact(bits: int) -> int:
    """255 for 8 bits."""
    return (1 << bits) - 1


def quantize(weights: Tensor, scale: float, bits: int) -> Tensor:
    """Whole impacts from 0 (no posting) to the largest; larger ones are cut off there."""
    return torch.round(weights * scale).clamp_(0, largest_impact(bits)).to(torch.int32)


def calibrate(largest_weight: float, bits: int) -> float:
    """The scale that gives the largest weight of a sample the largest impact."""
    return largest_impact(bits) / largest_weight if largest_weight > 0 else 1.0
