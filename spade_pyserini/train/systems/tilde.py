"""TILDE: the likelihood of the query's terms given the document, and of the document's terms
given the query.

    L(x, T) = -1/|V| (sum_{j in T} log P(j | x) + sum_{j not in T} log(1 - P(j | x)))
    loss = mean over pairs of (L(d+, terms of q) + L(q, terms of d+)) / 2

with P(j | x) = sigmoid(logit_j) of `models.systems.tilde` for a text x and a set of terms T. There
are no negative documents.

- Zhuang, Zuccon: TILDE, term independent likelihood model for passage re-ranking, SIGIR 2021,
  https://doi.org/10.1145/3404835.3462922
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from spade_pyserini.models.systems.tilde import Tilde
from spade_pyserini.train.step import LossParts
from spade_pyserini.train.systems.objective import SystemObjective


class TildeObjective(SystemObjective):
    """Binary cross-entropy over all terms, for the query's terms and for the document's terms.

    The query's terms are predicted from the document, the document's terms from the query.
    """

    encodes_queries = True
    ranks = False

    def documents(self, samples: Sequence[int]) -> list[str]:
        """Return the docids of a batch: only the positives."""
        return [self.data.samples[sample].positive for sample in samples]

    def vectors(
        self, samples: list[int], input_ids: Tensor, attention_mask: Tensor, is_query: bool
    ) -> Tensor:
        """Return the logits of documents or queries, [batch, |V|]."""
        assert isinstance(self.model, Tilde)
        return self.model.logits(input_ids, attention_mask)

    def loss(self, samples: list[int], rows: Tensor) -> LossParts:
        texts = self.texts(samples)  # the queries, then their documents
        half = len(samples)
        of_queries, of_documents = (
            self._terms([text.ids for text in part]).to(rows)
            for part in (texts[:half], texts[half:])
        )
        targets = torch.cat([of_documents, of_queries])
        columns = self.model.kept
        return {
            "likelihood": functional.binary_cross_entropy_with_logits(
                rows[:, columns], targets[:, columns]
            )
        }

    def _terms(self, batch: list[list[int]]) -> Tensor:
        """Return vectors [batch, |V|], with 1 for the terms of each text and 0 for all others."""
        vectors = torch.zeros(len(batch), len(self.model.kept))
        for row, ids in enumerate(batch):
            vectors[row, ids] = 1
        return vectors
