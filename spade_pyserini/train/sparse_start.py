"""Start training with sparse vectors: lower the bias of a new masked-LM head.

Without this, a new head gives a positive weight to half of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from spade_pyserini.models import SpadeModel
from spade_pyserini.models.tensors import pad_batch
from spade_pyserini.train.encoders import SIMILAR

SAMPLE = 64  # texts from which the bias is computed


@torch.no_grad()
def lower_expansion_bias(model: SpadeModel, texts: list[str], number: int) -> None:
    """Lower the bias of SpaDE's expansion head such that documents have about ``number`` terms.

    Changes ``model``. If ``number`` is 0, or if there are no texts, nothing is changed.
    """
    if not (number and texts):
        return
    model.eval()
    ids = model.wordpieces.document_ids(texts, model.config.max_length)

    def vectors(input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return model.expansion_vectors(input_ids, attention_mask, top_k=False)

    model.expansion.head.bias.data -= activation_limit(vectors, ids, model.kept, number)


def activation_limit(
    vectors: Callable[[Tensor, Tensor], Tensor], ids: list[list[int]], kept: Tensor, number: int
) -> float:
    """Return the ``number``-th largest activation of a text, averaged over the texts.

    vectors: computes the activations of texts, [batch, |V|], from their input_ids and
    attention_mask, [batch, length]. kept [|V|]: the terms that count.
    """

    def limits() -> Iterator[Tensor]:
        for start in range(0, len(ids), SIMILAR):
            inputs = pad_batch(ids[start : start + SIMILAR], kept.device)
            values = vectors(*inputs)[:, kept]
            yield values.topk(min(number, values.shape[1])).values[:, -1]

    return torch.cat(list(limits())).mean().item()
