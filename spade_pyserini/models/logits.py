"""Reduce the masked-LM logits of tokens without holding all of them in memory.

Logits are computed for `BLOCK` terms at a time: a tensor of batch x length x |V| never exists.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

BLOCK = 4096  # terms per block


def top_logits(tokens: Tensor, decoder: Tensor, bias: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Find the top k terms of each token.

    tokens [tokens, m]; decoder [terms, m]; bias [terms]. Returns logits and term indices,
    [tokens, k] each, without gradients.
    """
    values, indices = [], []
    for block, logits in _blocks(tokens, decoder, bias):
        best = logits.topk(min(k, logits.shape[1]), sorted=False)
        values.append(best.values)
        indices.append(best.indices + block.start)
    top = torch.cat(values, dim=1).topk(k)
    return top.values, torch.cat(indices, dim=1).gather(1, top.indices)


def max_logits(rows: Tensor, decoder: Tensor, bias: Tensor, attended: Tensor) -> Tensor:
    """Find the largest logit of each term over the tokens of a document.

    rows [batch, length, m]; decoder [terms, m]; bias [terms]; attended [batch, length], False for
    padding. Returns [batch, terms].
    """
    largest: Tensor = _MaxLogits.apply(rows, decoder, bias, attended)  # type: ignore[no-untyped-call]
    return largest


def _blocks(tokens: Tensor, decoder: Tensor, bias: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Yield pairs for `BLOCK` terms at a time: the slice of the terms, and logits [tokens, terms].

    The logits are overwritten when the next pair is computed.
    """
    # All blocks use one buffer: allocating memory for each would cost as much as the product.
    buffer = tokens.new_empty(len(tokens) * BLOCK)
    for start in range(0, len(bias), BLOCK):
        block = slice(start, min(start + BLOCK, len(bias)))
        size = block.stop - start
        out = buffer[: len(tokens) * size].view(len(tokens), size)
        yield block, torch.addmm(bias[block], tokens, decoder[block].T, out=out)


class _MaxLogits(torch.autograd.Function):
    """`max_logits` with a sparse gradient.

    In each document, the gradient of a term goes only to the token with the largest logit. So the
    backward pass is a sparse product. Autograd would compute a dense product of all logits.
    """

    @staticmethod
    def forward(
        context: Any, rows: Tensor, decoder: Tensor, bias: Tensor, attended: Tensor
    ) -> Tensor:
        values = rows.new_empty(len(rows), len(bias))
        positions = torch.empty_like(values, dtype=torch.int32)
        for block, logits in _blocks(rows.flatten(0, 1), decoder, bias):
            by_document = logits.view(*attended.shape, -1)
            best = by_document.masked_fill_(~attended[:, :, None], float("-inf")).max(dim=1)
            values[:, block], positions[:, block] = best.values, best.indices.to(torch.int32)
        context.save_for_backward(rows, decoder, positions)
        return values

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, Tensor | None, Tensor, None]:
        rows, decoder, positions = context.saved_tensors
        (upstream,) = gradients
        batch, length, width = rows.shape
        documents, terms = upstream.nonzero(as_tuple=True)
        tokens = documents * length + positions[documents, terms]
        sparse = torch.sparse_coo_tensor(
            torch.stack([tokens, terms]),
            upstream[documents, terms],
            (batch * length, len(decoder)),
            is_coalesced=False,
            check_invariants=False,
        )
        of_rows = (sparse @ decoder).view(batch, length, width)
        of_decoder = None
        if context.needs_input_grad[1]:
            of_decoder = sparse.T @ rows.flatten(0, 1)
        return of_rows, of_decoder, upstream.sum(dim=0), None
