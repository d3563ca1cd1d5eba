"""Aggregation of the two vectors of a document (Eq. 10)."""

from __future__ import annotations

from torch import Tensor


def mix(weighting: Tensor, expansion: Tensor, alpha: float, saturate: bool = False) -> Tensor:
    """Return (1 - alpha) * weighting + alpha * expansion, of the same shape as both (Eq. 10).

    With ``saturate``, return log(1 + x), where x is that sum. The paper does not do this.
    """
    mixed = (1 - alpha) * weighting + alpha * expansion  # Eq. 10
    return mixed.log1p() if saturate else mixed
