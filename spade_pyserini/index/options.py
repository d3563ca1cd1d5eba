"""Options for building an impact index."""

from __future__ import annotations

from dataclasses import dataclass

from spade_pyserini.errors import UsageError

BUILDERS = DIRECT, ANSERINI = "direct", "anserini"


@dataclass(frozen=True)
class IndexOptions:
    """How to build an impact index.

    - ``builder``: ``direct`` passes impacts to Lucene as term frequencies. ``anserini`` is the
      reference: Anserini's IndexCollection, run by Pyserini, which repeats each term as often as
      its impact. Both give the same postings.
    - ``threads``: number of indexing threads.
    - ``optimize``: merge all segments into one.
    - ``reorder``: place similar documents next to each other, which makes the index smaller. Keeps
      all vectors in memory and indexes with one thread. With the direct builder only.
    """

    builder: str = DIRECT
    threads: int = 1
    optimize: bool = False
    reorder: bool = False

    def __post_init__(self) -> None:
        if self.builder not in BUILDERS:
            raise UsageError(f"builder must be {' or '.join(BUILDERS)}, not {self.builder}")
        if self.reorder and self.builder != DIRECT:
            raise UsageError(f"reorder=True needs builder={DIRECT}, not {self.builder}")
