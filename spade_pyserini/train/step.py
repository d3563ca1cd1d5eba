"""The gradient of a batch, which does not depend on the number of micro-batches or processes.

With in-batch negatives, the loss of a query depends on all documents of the batch, so plain
gradient accumulation would change the loss. Gradient caching does not: encode all micro-batches
without gradients; compute the loss of the batch and its gradient for every document vector; then
encode each micro-batch again and backpropagate the gradients of its vectors. Both passes use the
same dropout masks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import torch
from accelerate import Accelerator
from torch import Tensor, nn

Text = TypeVar("Text")
Encode = Callable[[list[list[int]]], Tensor]
LossParts = dict[str, Tensor]


def backward(
    accelerator: Accelerator,
    encode: Callable[[list[Text]], Tensor],
    documents: list[Text],
    loss: Callable[[Tensor], LossParts],
    *,
    micro_batch: int,
    parameters: Iterable[nn.Parameter],
) -> tuple[Tensor, dict[str, float]]:
    """Backpropagate the sum of all parts of the loss to the ``grad`` of ``parameters``.

    ``documents`` is the input of ``encode`` for the complete batch, such as WordPiece ids; it is
    the same in every process. Each process encodes its share, so the number of documents must be
    a multiple of the number of processes. ``loss`` gets the vectors of all documents,
    [documents, |V|]. Returns these vectors and the value of each part of the loss.
    """
    if len(documents) % accelerator.num_processes:
        raise ValueError(
            "the number of documents is not a multiple of the number of processes; choose a "
            "batch_size that is a multiple of the number of processes"
        )
    share = len(documents) // accelerator.num_processes
    first = accelerator.process_index * share
    own = documents[first : first + share]
    micro_batches = [own[i : i + micro_batch] for i in range(0, share, micro_batch)]
    if accelerator.num_processes == 1 and len(micro_batches) == 1:
        with accelerator.autocast():
            vectors = encode(own).float()
        return vectors.detach(), _backward_loss(loss(vectors))

    states, encoded = [], []
    with torch.no_grad(), accelerator.autocast():
        for batch in micro_batches:
            states.append(random_state(accelerator.device))
            encoded.append(encode(batch).float())
    after = random_state(accelerator.device)
    vectors = accelerator.gather(torch.cat(encoded)).detach().requires_grad_()
    values = _backward_loss(loss(vectors))
    assert vectors.grad is not None
    for number, (batch, state) in enumerate(zip(micro_batches, states, strict=True)):
        set_random_state(state, accelerator.device)
        with accelerator.autocast():
            again = encode(batch).float()
        start = first + number * micro_batch
        again.backward(vectors.grad[start : start + len(batch)])  # type: ignore[no-untyped-call]
    set_random_state(after, accelerator.device)
    if accelerator.num_processes > 1:
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.grad = accelerator.reduce(parameter.grad, reduction="sum")
    return vectors.detach(), values


def _backward_loss(parts: LossParts) -> dict[str, float]:
    """Backpropagate the sum of the parts of a loss; returns their values."""
    torch.stack(list(parts.values())).sum().backward()  # type: ignore[no-untyped-call]
    return {name: part.item() for name, part in parts.items()}


def random_state(device: torch.device) -> Tensor:
    """Return the state of the random generator of a device, which dropout uses."""
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()


def set_random_state(state: Tensor, device: torch.device) -> None:
    """Restore a state that `random_state` returned."""
    if device.type == "cuda":
        torch.cuda.set_rng_state(state, device)
    else:
        torch.set_rng_state(state)
