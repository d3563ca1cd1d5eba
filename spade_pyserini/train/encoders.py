"""Encode documents with one of the two encoders, for training."""

from __future__ import annotations

import torch
from torch import Tensor

from spade_pyserini.models import SpadeModel
from spade_pyserini.models.tensors import pad_batch

ENCODERS = ("weighting", "expansion")
SIMILAR = 16  # number of documents that are padded to the same length


def encode_documents(
    model: SpadeModel, encoder: str, ids: list[list[int]], *, top_k: bool
) -> Tensor:
    """Encode documents given as WordPiece ids; returns the vectors v_d, [documents, |V|].

    ``encoder`` is ``weighting`` (Eq. 4 to 6) or ``expansion`` (Eq. 7 to 9). With ``top_k``, the
    expansion encoder applies document-level pruning (Eq. 8). Documents of similar length are
    encoded together.
    """
    device = model.kept.device
    order = sorted(range(len(ids)), key=lambda number: len(ids[number]))
    vectors = []
    for start in range(0, len(ids), SIMILAR):
        similar = [ids[number] for number in order[start : start + SIMILAR]]
        inputs = pad_batch(similar, device)
        if encoder == "weighting":
            vectors.append(model.weighting_vectors(*inputs))
        else:
            vectors.append(model.expansion_vectors(*inputs, top_k=top_k))
    return torch.cat(vectors)[torch.tensor(order, device=device).argsort()]
