"""The FLOPS regularizer of SPLADE, for the expansion encoder."""

from __future__ import annotations

from spade_pyserini.models import SpadeModel
from spade_pyserini.train.beyond.losses import flops_loss
from spade_pyserini.train.extension import Extension, ScoredBatch
from spade_pyserini.train.step import LossParts


class Flops(Extension):
    """Adds the regularizer in fine-tuning; in warm-up, documents contain nearly all terms."""

    def __init__(self, weight: float, model: SpadeModel) -> None:
        self.weight, self.model = weight, model

    def losses(self, batch: ScoredBatch) -> LossParts:
        if not (batch.expansion and batch.pruning):
            return {}
        documents = batch.documents
        weights = documents.log1p() if self.model.config.saturate else documents
        return {"flops": self.weight * flops_loss(weights)}
