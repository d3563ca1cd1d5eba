"""Query encoders that run a neural model and round the weights of terms to integers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch

from spade_pyserini.errors import ArtifactError
from spade_pyserini.formats.query_side import NEURAL, QuerySide
from spade_pyserini.models.fingerprint import weights_fingerprint
from spade_pyserini.models.systems.system import System
from spade_pyserini.models.tensors import named, pad_batch, sparse
from spade_pyserini.models.wordpieces import WordPieces

BATCH = 32  # queries encoded at a time


@dataclass(frozen=True)
class NeuralQueries:
    """Encodes queries with the model of a system.

    model: the name of the model, for manifests. max_length: tokens of a query that are read.
    scale: the factor by which weights are multiplied before they are rounded; Pyserini uses
    256 / 5. prompt: text before every query.
    """

    system: System
    model: str
    max_length: int
    scale: float
    prompt: str = ""
    weights: Mapping[str, int] = field(default_factory=dict, init=False)

    @property
    def wordpieces(self) -> WordPieces:
        """The tokenizer."""
        return self.system.wordpieces

    @cached_property
    def side(self) -> QuerySide:
        """The description of this encoder for manifests, with a digest of weights and settings."""
        parts = [self.system.name, self.system.settings, self.max_length, self.scale]
        digest = hashlib.sha256(repr(parts).encode())
        digest.update(self.wordpieces.fingerprint.encode())
        digest.update(weights_fingerprint(self.system).encode())
        return QuerySide(NEURAL, self.model, digest.hexdigest(), self.prompt)

    @torch.inference_mode()
    def encode(self, texts: Sequence[str]) -> list[dict[str, int]]:
        """Return, for each query, the weights of its terms, scaled and rounded, without zeros."""
        vectors: list[dict[str, int]] = []
        for start in range(0, len(texts), BATCH):
            prompted = [self.prompt + text for text in texts[start : start + BATCH]]
            ids = self.wordpieces.document_ids(prompted, self.max_length)
            inputs = pad_batch(ids, self.system.kept.device)
            weights = self.system.query_vectors(*inputs).float()
            if not torch.isfinite(weights).all():
                message = f"the query encoder {self.model} returned NaN or infinite weights"
                raise ArtifactError(f"{message}; use another query encoder")
            rounded = torch.round(weights * self.scale).to(torch.int32)
            vectors += [named(self.wordpieces.terms, vector) for vector in sparse(rounded)]
        return vectors

    def terms_of(self, text: str) -> list[str]:
        """Return the distinct WordPieces of a text."""
        return self.wordpieces.query_terms(text)
