"""Corpus-level pruning: terms that land in too many documents are removed, for good.

The document frequency is approximate: it is counted over the training documents that pass by,
and begun anew every ``period`` steps. At the end of a period, terms that were in more than
gamma of its documents are removed; gamma follows a schedule, from mild to its final value.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

PAPER_GAMMAS = (0.90, 0.85, 0.80, 0.75, 0.70, 0.70)


@dataclass(frozen=True)
class PruningSettings:
    """gammas: the share of documents above which a term goes, one for each period, then the last.

    period: steps between two looks. An empty tuple of gammas turns pruning off.
    """

    gammas: tuple[float, ...] = PAPER_GAMMAS
    period: int = 3200


class DocumentFrequency:
    """Counts, for each term, the documents of the running period that have it."""

    def __init__(self, size: int, settings: PruningSettings) -> None:
        self.settings = settings
        self.counts = torch.zeros(size, dtype=torch.long)
        self.documents = 0
        self.steps = 0

    def add(self, documents: Tensor) -> None:
        """Count the non-zero terms of a step's expansion vectors, [D, |V|]."""
        self.counts += (documents > 0).sum(dim=0).cpu()
        self.documents += len(documents)
        self.steps += 1

    def prune(self, kept: Tensor) -> int:
        """At the end of a period, clear frequent terms in ``kept`` [|V|]; returns how many."""
        if not self.settings.gammas or self.steps == 0 or self.steps % self.settings.period:
            return 0
        period = self.steps // self.settings.period - 1
        gamma = self.settings.gammas[min(period, len(self.settings.gammas) - 1)]
        frequent = (self.counts > gamma * self.documents).to(kept.device) & kept
        kept &= ~frequent
        self.counts.zero_()
        self.documents = 0
        return int(frequent.sum())

    def state_dict(self) -> dict[str, Tensor]:
        """All that a resumed run needs."""
        numbers = torch.tensor([self.documents, self.steps])
        return {"counts": self.counts.clone(), "numbers": numbers}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.counts.copy_(state["counts"])
        self.documents, self.steps = (int(number) for number in state["numbers"])
