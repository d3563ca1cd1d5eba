"""The scale of quantization for a model that was saved without one."""

from __future__ import annotations

from spade_pyserini.encode.batches import batches
from spade_pyserini.encode.options import BATCH_TOKENS
from spade_pyserini.models.encoder import SpadeEncoder
from spade_pyserini.models.quantize import calibrate


def calibrated_scale(encoder: SpadeEncoder, texts: list[str]) -> float:
    """The scale that gives the largest weight in these texts the largest impact."""
    ids = encoder.wordpieces.document_ids(texts, encoder.config.max_length)
    with encoder.fixed():
        weights = [encoder.weigh(batch).max().item() for batch, _ in batches(ids, BATCH_TOKENS)]
    return calibrate(max(weights, default=0.0), encoder.config.bits)
