"""Compute the scale of quantization for a model that was saved without a scale."""

from __future__ import annotations

from spade_pyserini.encode.batches import batches
from spade_pyserini.encode.options import BATCH_TOKENS
from spade_pyserini.models.protocols import DocumentEncoder
from spade_pyserini.models.quantize import calibrate
from spade_pyserini.progress import counting_bar


def calibrated_scale(encoder: DocumentEncoder, texts: list[str]) -> float:
    """Return the scale with which the largest weight in these texts becomes the largest impact."""
    ids = [document.ids for document in encoder.cut_documents(texts)]
    largest = 0.0
    with (
        encoder.fixed(),
        counting_bar("calibrating the scale", "documents", len(ids), leave=False) as bar,
    ):
        for batch, _ in batches(ids, BATCH_TOKENS):
            weights = encoder.weigh(batch)
            largest = max(largest, weights.max().item() if weights.numel() else 0.0)
            bar.update(len(batch))
    return calibrate(largest, encoder.config.bits)
