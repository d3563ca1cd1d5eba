"""Static pruning: the terms with the smallest impacts in a document are not indexed.

A smaller index is faster to search. The direct builder prunes in Java (``spade.Pruning``). The
Python code in this file makes the same decisions for the Anserini builder and ``verify_index``.
"""

from __future__ import annotations

from dataclasses import dataclass

from spade_pyserini.errors import UsageError
from spade_pyserini.records import ImpactVector


@dataclass(frozen=True)
class StaticPruning:
    """Which terms of a document are indexed. A term must satisfy both conditions.

    - ``keep``: the largest impacts of the document are kept until their sum reaches this share of
      the sum of all its impacts; 1 keeps all. Terms of equal impact are kept or removed together.
    - ``prune_ratio``: impacts below this share of the largest impact of the document are removed;
      0 removes none.

    At least the term with the largest impact is kept, so no document becomes empty.
    """

    keep: float = 1.0
    prune_ratio: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 < self.keep <= 1.0:
            raise UsageError(f"keep={self.keep:g} must be above 0 and at most 1")
        if not 0.0 <= self.prune_ratio < 1.0:
            raise UsageError(f"prune_ratio={self.prune_ratio:g} must be at least 0 and below 1")

    @property
    def active(self) -> bool:
        """Whether anything can be removed."""
        return self.keep < 1.0 or self.prune_ratio > 0.0

    def apply(self, vector: ImpactVector) -> ImpactVector:
        """Return the vector without the terms that are removed."""
        impacts = vector.impacts
        if not impacts or not self.active:
            return vector
        descending = sorted(impacts.values(), reverse=True)
        least = max(self.prune_ratio * descending[0], self._smallest_kept(descending))
        kept = {term: impact for term, impact in impacts.items() if impact >= least}
        return ImpactVector(vector.docid, kept)

    def _smallest_kept(self, descending: list[int]) -> int:
        """Return the smallest impact that the condition ``keep`` does not remove."""
        wanted, kept = self.keep * sum(descending), 0
        for impact in descending:
            kept += impact
            if kept >= wanted:
                return impact
        return descending[-1]


NO_PRUNING = StaticPruning()
