"""Corpus-level pruning: terms that occur in too many documents are removed from the vocabulary.

The document frequency is approximate. It is counted over the documents of the training batches,
and reset every ``period`` steps. At the end of a period, terms are removed for good if they occur
in more than the share gamma of the period's documents. Gamma decreases from period to period.
"""

from __future__ import annotations

import torch
from torch import Tensor

from spade_pyserini.errors import UsageError
from spade_pyserini.train.settings import PruningSettings


class DocumentFrequency:
    """Counts, for each term, the documents of the current period that contain it."""

    def __init__(self, size: int, settings: PruningSettings) -> None:
        self.settings = settings
        self.counts = torch.zeros(size, dtype=torch.long)
        self.documents = 0
        self.steps = 0

    def add(self, documents: Tensor) -> None:
        """Count the non-zero terms of the expansion vectors of one step, [D, |V|]."""
        self.counts += (documents > 0).sum(dim=0).cpu()
        self.documents += len(documents)
        self.steps += 1

    def prune(self, kept: Tensor) -> int:
        """At the end of a period, set frequent terms in ``kept`` [|V|] to False, in place.

        Returns the number of terms that were removed.
        """
        if not self.settings.gammas or self.steps == 0 or self.steps % self.settings.period:
            return 0
        period = self.steps // self.settings.period - 1
        gamma = self.settings.gammas[min(period, len(self.settings.gammas) - 1)]
        frequent = (self.counts > gamma * self.documents).to(kept.device) & kept
        if not (kept & ~frequent).any():
            message = f"pruning with gamma {gamma} would remove every term that is left"
            raise UsageError(f"{message}; choose larger values of gammas, or gammas=[]")
        kept &= ~frequent
        self.counts.zero_()
        self.documents = 0
        return int(frequent.sum())

    def state_dict(self) -> dict[str, Tensor]:
        """The state that a checkpoint saves."""
        numbers = torch.tensor([self.documents, self.steps])
        return {"counts": self.counts.clone(), "numbers": numbers}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore a state that `state_dict` returned."""
        self.counts.copy_(state["counts"])
        self.documents, self.steps = (int(number) for number in state["numbers"])
