"""Validation of a system: the model is saved and loaded, and then scores all documents exactly."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import torch
from torch import Tensor

from spade_pyserini.formats.exchange import exchange
from spade_pyserini.formats.paths import remove
from spade_pyserini.models.protocols import DocumentEncoder
from spade_pyserini.models.systems.loading import load_encoder
from spade_pyserini.models.systems.saving import save_system
from spade_pyserini.models.systems.system import System
from spade_pyserini.train.dev_set import DevSet
from spade_pyserini.train.selection import Selection

CANDIDATE = "candidate"  # the folder of the model that is validated


class SystemValidation(NamedTuple):
    """The quality and the cost of a model on the validation collections.

    mrr, ndcg: means over the collections. by_collection: MRR@10 of each collection. terms: mean
    number of terms of a document vector.
    """

    mrr: float
    ndcg: float
    by_collection: dict[str, float]
    terms: float
    documents_per_second: float


class SystemSelection(Selection[System]):
    """Validates a model after it was saved and loaded again."""

    def update(self, model: System, step: int) -> Any:
        try:
            return super().update(model, step)
        finally:
            remove(self.run / CANDIDATE)

    def validate(self, model: System) -> SystemValidation:
        self._save(model, self.run / CANDIDATE)
        encoder = load_encoder(self.run / CANDIDATE, device=str(model.kept.device), fold=False)
        return validate_system(encoder, self.dev)

    def keep(self, model: System, figures: Any | None) -> dict[str, Any]:
        best, candidate = self.run / "best", self.run / CANDIDATE
        if figures is None:
            self._save(model, best)
        elif best.exists():
            exchange(candidate, best)
        else:
            candidate.replace(best)
        return {}

    def _save(self, model: System, folder: Path) -> None:
        settings = self.recipe.model
        length = settings.encode_length or settings.max_length
        save_system(model, folder, length, half=settings.half)


@torch.inference_mode()
def validate_system(encoder: DocumentEncoder, sets: list[DevSet]) -> SystemValidation:
    """Compute the scores of all documents for all queries, and measure the rankings."""
    start, terms, figures = time.perf_counter(), 0, []
    for dev in sets:
        relevance, count = system_scores(encoder, dev)
        figures.append(dev.measure(relevance))
        terms += count
    documents = sum(len(dev.texts) for dev in sets)
    return SystemValidation(
        mrr=fmean(mrr for mrr, _ in figures),
        ndcg=fmean(ndcg for _, ndcg in figures),
        by_collection={dev.name: mrr for dev, (mrr, _) in zip(sets, figures, strict=True)},
        terms=terms / documents,
        documents_per_second=round(documents / (time.perf_counter() - start), 2),
    )


def system_scores(encoder: DocumentEncoder, dev: DevSet) -> tuple[Tensor, int]:
    """Return scores [topics, documents], and the number of terms in all document vectors."""
    queries = encoder.queries.encode([topic.text for topic in dev.topics])
    ids = [document.ids for document in encoder.cut_documents(dev.texts)]
    relevance, terms = torch.zeros(len(queries), len(ids)), 0
    columns: Sequence[str] = ()
    for batch, positions in dev.batches(ids):
        if encoder.columns(batch) is not columns:
            columns = encoder.columns(batch)
            matrix = _matrix(queries, columns)
        weights = encoder.weigh(batch).cpu()[:, : len(columns)]  # further columns are padding
        relevance[:, positions] = matrix @ weights.T
        terms += int((weights > 0).sum())
    return relevance, terms


def _matrix(queries: list[dict[str, int]], columns: Sequence[str]) -> Tensor:
    """Return the weight that each query gives to the term of each column, [queries, columns]."""
    numbers = {term: number for number, term in enumerate(columns)}
    matrix = torch.zeros(len(queries), len(columns))
    for row, weights in enumerate(queries):
        for term, weight in weights.items():
            if term in numbers:
                matrix[row, numbers[term]] = weight
    return matrix
