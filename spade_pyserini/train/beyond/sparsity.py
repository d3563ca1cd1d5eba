"""The regularizers of SPLADE, for the expansion encoder: FLOPS and L1."""

from __future__ import annotations

from spade_pyserini.models import SpadeModel
from spade_pyserini.train.beyond.losses import flops_loss, l1_loss
from spade_pyserini.train.extension import Extension, ScoredBatch
from spade_pyserini.train.settings import LossSettings
from spade_pyserini.train.step import LossParts


class Sparsity(Extension):
    """Adds the regularizers in fine-tuning, but not in warm-up, which prunes no documents."""

    def __init__(self, settings: LossSettings, model: SpadeModel) -> None:
        self.settings, self.model = settings, model

    def losses(self, batch: ScoredBatch) -> LossParts:
        if not (batch.expansion and batch.pruning):
            return {}
        documents = batch.documents
        weights = documents.log1p() if self.model.config.saturate else documents
        parts: LossParts = {}
        if self.settings.flops:
            parts["flops"] = self.settings.flops * flops_loss(weights)
        if self.settings.l1:
            parts["l1"] = self.settings.l1 * l1_loss(weights)
        return parts
