"""DeepCT: the weights of words are trained to predict query term recall (QTR).

    QTR(j, d) = |{q in Q_d: j in q}| / |Q_d|,   Q_d the queries for which d is relevant
    loss = mean over the words j of the documents of (w_dj - QTR(j, d))^2

`models.systems.deepct` computes the weights w_dj. Only relevant documents are used, no negatives.

- Dai, Callan: Context-aware term weighting for first-stage passage retrieval, SIGIR 2020,
  https://doi.org/10.1145/3397271.3401204
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from spade_pyserini.models.systems.pooling import distinct_words
from spade_pyserini.models.systems.system import System
from spade_pyserini.train.data import TrainingData
from spade_pyserini.train.extension import Extensions
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.step import LossParts
from spade_pyserini.train.systems.words import WordObjective


class DeepCTObjective(WordObjective):
    """Mean squared error between QTR and the weights of the words of relevant documents."""

    ranks = False

    def __init__(
        self, recipe: Recipe, data: TrainingData, model: System, extensions: Extensions
    ) -> None:
        super().__init__(recipe, data, model, extensions)
        self.queries_of: dict[str, set[str]] = {}
        for sample in data.samples:
            self.queries_of.setdefault(sample.positive, set()).add(sample.qid)

    def documents(self, samples: Sequence[int]) -> list[str]:
        """Return the docids of a batch: only the positives."""
        return [self.data.samples[sample].positive for sample in samples]

    def words(self, samples: list[int]) -> list[str]:
        """Return the word of each vector column: all words in the documents of the batch."""
        return distinct_words(self.wordpieces, self.ids(self.documents(samples)))

    def loss(self, samples: list[int], rows: Tensor) -> LossParts:
        targets, present = self.recalls(samples)
        errors = (rows - targets.to(rows)).square() * present.to(rows)
        return {"regression": errors.sum() / present.sum().clamp(min=1)}

    def recalls(self, samples: list[int]) -> tuple[Tensor, Tensor]:
        """Return two tensors [D, words].

        The first tensor has the QTR of each word. The second is True for words in the document.
        """
        docids, words = self.documents(samples), self.words(samples)
        columns = {word: column for column, word in enumerate(words)}
        targets = torch.zeros(len(docids), len(words))
        present = torch.zeros(len(docids), len(words), dtype=torch.bool)
        for row, (docid, ids) in enumerate(zip(docids, self.ids(docids), strict=True)):
            queries = [self.data.queries[qid] for qid in self.queries_of[docid]]
            counts = Counter(word for text in queries for word in set(self.wordpieces.words(text)))
            for word in self.wordpieces.words_of(ids):
                targets[row, columns[word.text]] = counts[word.text] / len(queries)
                present[row, columns[word.text]] = True
        return targets, present
