"""One step on a whole effective batch, whatever fits into memory and however many processes.

In-batch negatives tie all documents of a batch together, so plain gradient accumulation would
change the loss. Instead (gradient caching): encode all micro-batches without gradients, compute
the loss and its gradient for every document vector on the whole batch, then encode each
micro-batch again and hand its vectors their gradients. Dropout draws the same both times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from accelerate import Accelerator
from torch import Tensor, nn

Encode = Callable[[list[list[int]]], Tensor]
LossParts = dict[str, Tensor]


def backward(
    accelerator: Accelerator,
    encode: Encode,
    documents: list[list[int]],
    loss: Callable[[Tensor], LossParts],
    *,
    micro_batch: int,
    parameters: Iterable[nn.Parameter],
) -> tuple[Tensor, dict[str, float]]:
    """Add the gradient of the summed loss parts to ``parameters``.

    ``documents`` are those of the whole batch, the same in every process; each encodes its share,
    so their number must divide by that of the processes. ``loss`` gets the vectors of all,
    [documents, |V|]. Returns these vectors and the value of each part.
    """
    if len(documents) % accelerator.num_processes:
        raise ValueError("the documents of a batch do not divide by the number of processes")
    share = len(documents) // accelerator.num_processes
    first = accelerator.process_index * share
    own = documents[first : first + share]
    micro_batches = [own[i : i + micro_batch] for i in range(0, share, micro_batch)]
    if accelerator.num_processes == 1 and len(micro_batches) == 1:
        with accelerator.autocast():
            vectors = encode(own).float()
        parts = loss(vectors)
        torch.stack(list(parts.values())).sum().backward()  # type: ignore[no-untyped-call]
        return vectors.detach(), {name: part.item() for name, part in parts.items()}

    states, encoded = [], []
    with torch.no_grad(), accelerator.autocast():
        for batch in micro_batches:
            states.append(random_state(accelerator.device))
            encoded.append(encode(batch).float())
    after = random_state(accelerator.device)
    whole = accelerator.gather(torch.cat(encoded)).detach().requires_grad_()
    parts = loss(whole)
    torch.stack(list(parts.values())).sum().backward()  # type: ignore[no-untyped-call]
    assert whole.grad is not None
    for number, (batch, state) in enumerate(zip(micro_batches, states, strict=True)):
        set_random_state(state, accelerator.device)
        with accelerator.autocast():
            vectors = encode(batch).float()
        start = first + number * micro_batch
        vectors.backward(whole.grad[start : start + len(batch)])  # type: ignore[no-untyped-call]
    set_random_state(after, accelerator.device)
    if accelerator.num_processes > 1:
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.grad = accelerator.reduce(parameter.grad, reduction="sum")
    return whole.detach(), {name: part.item() for name, part in parts.items()}


def random_state(device: torch.device) -> Tensor:
    """The state of the generator that dropout draws from."""
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()


def set_random_state(state: Tensor, device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.set_rng_state(state, device)
    else:
        torch.set_rng_state(state)
