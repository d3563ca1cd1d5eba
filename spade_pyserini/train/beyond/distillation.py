"""Distillation: the model is trained to score the documents of a batch like a teacher."""

from __future__ import annotations

import torch
from torch import Tensor

from spade_pyserini.train.beyond.losses import kl_loss, margin_mse_loss
from spade_pyserini.train.beyond.teachers import BM25Teacher, DenseTeacher
from spade_pyserini.train.data import TrainingData
from spade_pyserini.train.extension import Extension, ScoredBatch
from spade_pyserini.train.extension_settings import DistillationSettings
from spade_pyserini.train.step import LossParts


class Distillation(Extension):
    """Adds a distillation loss with the name ``name``. Subclasses choose the compared documents."""

    name: str

    def __init__(self, settings: DistillationSettings, data: TrainingData) -> None:
        self.settings, self.data = settings, data
        self.weight = settings.distillation_weight

    def losses(self, batch: ScoredBatch) -> LossParts:
        student, teacher = self.candidates(batch.samples, batch.docids, batch.relevance)
        loss = kl_loss if self.settings.loss == "kl" else margin_mse_loss
        return {self.name: self.weight * loss(student, teacher)}

    def candidates(
        self, samples: list[int], docids: list[str], relevance: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the scores of the model and of the teacher for the same documents, [Q, C] each.

        ``relevance`` [Q, D] holds the model's scores of all documents of the batch. In both
        results, the first candidate of each query is its positive.
        """
        raise NotImplementedError


class DenseDistillation(Distillation):
    """Learns the scores that a dense model gives to every pair of a query and a document.

    The queries and the documents are those of the batch. ``bm25`` is a list with a BM25 teacher for
    each collection, or an empty list. BM25's scores are added to the dense model's scores. Teachers
    get the queries without templates.
    """

    name = "batch_distillation"

    def __init__(
        self,
        settings: DistillationSettings,
        data: TrainingData,
        dense: DenseTeacher,
        bm25: list[BM25Teacher],
    ) -> None:
        super().__init__(settings, data)
        self.weight *= settings.dense_weight
        self.dense, self.bm25 = dense, bm25

    def candidates(
        self, samples: list[int], docids: list[str], relevance: Tensor
    ) -> tuple[Tensor, Tensor]:
        texts = [self.data.documents[docid] for docid in docids]
        queries = self.data.query_texts(samples)
        teacher = self.settings.teacher_scale * self.dense.scores(queries, texts)
        if self.bm25:
            bm25 = self._bm25_scores(samples, texts).to(teacher)
            teacher = teacher + self.settings.teacher_bm25 * bm25
        columns = torch.arange(len(docids)).repeat(len(samples), 1)
        for row in range(len(samples)):  # the positive comes first
            columns[row, [0, row]] = columns[row, [row, 0]]
        columns = columns.to(relevance.device)
        return relevance.gather(1, columns), teacher.to(relevance).gather(1, columns)

    def _bm25_scores(self, samples: list[int], documents: list[str]) -> Tensor:
        """Return BM25 scores with the idf of each query's collection, [samples, documents]."""
        collections = [self.data.collection(sample) for sample in samples]
        scores = torch.zeros(len(samples), len(documents))
        for number in set(collections):
            rows = [row for row, other in enumerate(collections) if other == number]
            queries = self.data.query_texts([samples[row] for row in rows])
            scores[rows] = self.bm25[number].scores(queries, documents)
        return scores


class RunDistillation(Distillation):
    """Learns the scores that a teacher's run gives to the documents of each sample."""

    name = "distillation"

    def candidates(
        self, samples: list[int], docids: list[str], relevance: Tensor
    ) -> tuple[Tensor, Tensor]:
        student, teacher = [], []
        first = len(samples)
        for row, number in enumerate(samples):
            sample = self.data.samples[number]
            columns = [row, *range(first, first + len(sample.negatives))]
            first += len(sample.negatives)
            student.append(relevance[row, columns])
            scores = self.data.teacher[sample.qid]
            teacher.append([scores[docids[column]] for column in columns])
        return torch.stack(student), torch.tensor(teacher, device=relevance.device)
