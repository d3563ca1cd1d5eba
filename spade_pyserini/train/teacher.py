"""A dense bi-encoder as teacher: what a stronger model thinks of every pair of a batch."""

from __future__ import annotations

import torch
from torch import Tensor

from spade_pyserini.models.bi_encoder import load_bi_encoder


class DenseTeacher:
    """Cosines of sentence embeddings. Each text is embedded once, then remembered.

    The teacher reads ``max_length`` WordPieces, as its pupil does.
    """

    def __init__(self, name: str, device: torch.device, max_length: int) -> None:
        self._model = load_bi_encoder(name, str(device))
        self._model.max_seq_length = min(max_length, self._model.max_seq_length or max_length)
        self._known: dict[str, Tensor] = {}

    def scores(self, queries: list[str], documents: list[str]) -> Tensor:
        """[queries, documents], from -1 to 1."""
        return self._embed(queries) @ self._embed(documents).T

    def _embed(self, texts: list[str]) -> Tensor:
        if unknown := [text for text in dict.fromkeys(texts) if text not in self._known]:
            vectors = self._model.encode(
                unknown, normalize_embeddings=True, convert_to_tensor=True, show_progress_bar=False
            )
            self._known |= dict(zip(unknown, vectors.clone(), strict=True))
        return torch.stack([self._known[text] for text in texts])
