"""Weights of query terms, idf of the corpus and saturation, in training.

A query term's weight is the same for all documents, so it is multiplied into the document vectors
and queries stay boolean. Training multiplies by the same weights as encoding.
"""

from __future__ import annotations

import torch
from torch import Tensor

from spade_pyserini.models import SpadeModel
from spade_pyserini.models.extensions import corpus_weights, with_corpus_idf
from spade_pyserini.models.term_counts import (
    TermCounts,
    counted_idf,
    empty_counts,
    merge_counts,
)
from spade_pyserini.train import losses
from spade_pyserini.train.data import TrainingData
from spade_pyserini.train.extension import Extension
from spade_pyserini.train.extension_settings import TermWeightSettings
from spade_pyserini.train.optimizers import adamw


class TermWeights(Extension):
    """Computes scores with term weights. ``idf = "learned"`` trains these weights.

    ``corpus_weights`` [collections, |V|]: the idf weights of each collection.
    """

    def __init__(
        self,
        settings: TermWeightSettings,
        data: TrainingData,
        model: SpadeModel,
        counts: list[TermCounts],
    ) -> None:
        """``counts``: term counts of each collection, or an empty list if there is no idf."""
        self.data, self.model = data, model
        known: list[TermCounts | None] = [*counts] or [None] * len(data.sizes)
        self.corpus_weights = torch.stack([corpus_weights(model, part) for part in known])
        self._optimizers: dict[str, torch.optim.Optimizer] = {}
        if settings.idf == "learned":
            model.query_weights.requires_grad_()
            self._optimizers["query"] = adamw([([model.query_weights], settings.idf_rate)])

    @staticmethod
    def needed(settings: TermWeightSettings, model: SpadeModel) -> bool:
        """Return whether the settings or the model ``init`` make scores differ from Eq. 1."""
        weighted = bool((model.query_weights != 1).any())
        config = model.config
        return settings.idf != "none" or weighted or config.saturate or config.corpus_idf > 0

    def scores(self, samples: list[int], queries: Tensor, documents: Tensor) -> Tensor:
        if not self.model.config.saturate:
            return losses.scores(queries * self._weights(samples), documents)
        collections = [self.data.collection(sample) for sample in samples]
        terms = queries.any(dim=0)
        scores = documents.new_zeros(len(queries), len(documents))
        for number in set(collections):  # each collection has its own weights
            rows = [row for row, other in enumerate(collections) if other == number]
            weights = (self.model.query_weights * self.corpus_weights[number])[terms]
            saturated = (documents[:, terms] * weights).log1p()
            scores[rows] = losses.scores(queries[rows][:, terms], saturated)
        return scores

    def pair_scores(self, samples: list[int], queries: Tensor, documents: Tensor) -> Tensor:
        vectors = documents * self._weights(samples)
        if self.model.config.saturate:
            vectors = vectors.log1p()
        return losses.pair_scores(queries, vectors)

    def optimizers(self) -> dict[str, torch.optim.Optimizer]:
        return self._optimizers

    def after_step(self) -> None:
        if self._optimizers:
            self.model.query_weights.data.clamp_(min=0)

    def _weights(self, samples: list[int]) -> Tensor:
        """Return the weight of each term for each sample, [samples, |V|]."""
        collections = [self.data.collection(sample) for sample in samples]
        return self.model.query_weights * self.corpus_weights[collections]


def initialize_term_weights(
    settings: TermWeightSettings, data: TrainingData, model: SpadeModel, counts: list[TermCounts]
) -> SpadeModel:
    """Return the model with the recipe's ``corpus_idf``; also sets the weights of query terms.

    The weights become idf ** (1 - corpus_idf). They stay unchanged if ``settings.idf`` is ``none``,
    or if a weight is not 1, as in a trained model.
    """
    power = model.config.corpus_idf if settings.corpus_idf is None else settings.corpus_idf
    weights = model.query_weights
    if settings.idf != "none" and (weights == 1).all():
        idf = counted_idf(model.wordpieces, merge_counts(counts), data.queries.values())
        # Encoding also multiplies by idf ** power, with the idf of the encoded corpus.
        weights.data = idf.to(weights) ** (1 - power)
    if power != model.config.corpus_idf:
        model = with_corpus_idf(
            model, power, merge_counts([empty_counts(len(model.kept)), *counts])
        )
    return model
