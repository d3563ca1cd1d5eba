"""Options for building an impact index."""

from __future__ import annotations

from dataclasses import dataclass

from spade_pyserini.errors import UsageError
from spade_pyserini.index.pruning import StaticPruning

BUILDERS = DIRECT, ANSERINI = "direct", "anserini"


@dataclass(frozen=True)
class IndexOptions:
    """How to build an impact index.

    - ``builder``: ``direct`` passes impacts to Lucene as term frequencies. ``anserini`` is the
      reference: Anserini's IndexCollection, run by Pyserini, which repeats each term as often as
      its impact. Both give the same postings.
    - ``threads``: number of indexing threads.
    - ``optimize``: merge all segments into one.
    - ``reorder``: place similar documents next to each other, which makes the index smaller. This
      keeps all vectors in memory, uses one thread, and works with the direct builder only.
    - ``keep``, ``prune_ratio``: leave small impacts out of the index, see
      `spade_pyserini.index.pruning.StaticPruning`.
    """

    builder: str = DIRECT
    threads: int = 1
    optimize: bool = False
    reorder: bool = False
    keep: float = 1.0
    prune_ratio: float = 0.0

    def __post_init__(self) -> None:
        if self.builder not in BUILDERS:
            raise UsageError(f"builder must be {' or '.join(BUILDERS)}, not {self.builder}")
        if self.reorder and self.builder != DIRECT:
            raise UsageError(f"reorder=True needs builder={DIRECT}, not {self.builder}")
        _ = self.pruning  # raises UsageError for values out of range

    @property
    def pruning(self) -> StaticPruning:
        """The static pruning, which decides which terms are indexed."""
        return StaticPruning(self.keep, self.prune_ratio)
