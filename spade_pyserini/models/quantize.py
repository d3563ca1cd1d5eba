"""Quantization of weights to impacts: linear, with one scale for the collection."""

from __future__ import annotations

import torch
from torch import Tensor


def largest_impact(bits: int) -> int:
    """Return the largest impact of this many bits: 255 for 8 bits."""
    return (1 << bits) - 1


def quantize(weights: Tensor, scale: float, bits: int) -> Tensor:
    """Multiply by ``scale``, round and clip.

    The result is an impact from 1 to the largest impact, or 0 for no posting.
    """
    return torch.round(weights * scale).clamp_(0, largest_impact(bits)).to(torch.int32)


def calibrate(largest_weight: float, bits: int) -> float:
    """Return the scale that maps the largest weight of a sample to the largest impact."""
    return largest_impact(bits) / largest_weight if largest_weight > 0 else 1.0
