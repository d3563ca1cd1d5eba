"""Pruning beyond the paper: small weights of a document, and noise among the expansion terms."""

from __future__ import annotations

from torch import Tensor


def drop_small_weights(vectors: Tensor, ratio: float) -> Tensor:
    """Set the weights below ``ratio`` times the largest weight of their document to 0.

    ``vectors`` [..., |V|] must not contain negative weights. With a ratio of 0, the vectors are
    returned unchanged.
    """
    if not ratio:
        return vectors
    return vectors * (vectors >= ratio * vectors.amax(dim=-1, keepdim=True))


def is_noise(expanded: Tensor, contained: Tensor, gamma: float, few: float) -> Tensor:
    """Return a mask [|V|], True for terms that few documents contain but expansion adds to many.

    expanded [|V|]: the share of documents whose expansion vector has the term. contained [|V|]: the
    share of documents whose text has the term. "Many" means that ``expanded`` is above ``gamma``.
    "Few" means that ``contained`` is below ``few`` times ``expanded``.
    """
    return (expanded > gamma) & (contained < few * expanded)
