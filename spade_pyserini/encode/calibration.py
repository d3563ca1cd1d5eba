"""The scale of quantization for a model that was saved without one."""

from __future__ import annotations

from spade_pyserini.encode.batches import batches
from spade_pyserini.encode.options import BATCH_TOKENS
from spade_pyserini.models.encoder import SpadeEncoder
from spade_pyserini.models.quantize import calibrate
from spade_pyserini.progress import counting_bar


def calibrated_scale(encoder: SpadeEncoder, texts: list[str]) -> float:
    """The scale that gives the largest weight in these texts the largest impact."""
    ids = encoder.wordpieces.document_ids(texts, encoder.config.max_length)
    largest = 0.0
    with (
        encoder.fixed(),
        counting_bar("calibrating the scale", "documents", len(ids), leave=False) as bar,
    ):
        for batch, _ in batches(ids, BATCH_TOKENS):
            largest = max(largest, encoder.weigh(batch).max().item())
            bar.update(len(batch))
    return calibrate(largest, encoder.config.bits)
