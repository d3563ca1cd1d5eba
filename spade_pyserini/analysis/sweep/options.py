"""The options of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ir_measures import Measure

from spade_pyserini.corpora import Corpus
from spade_pyserini.errors import UsageError
from spade_pyserini.evaluate import DEFAULT_MEASURES
from spade_pyserini.index.queries import MakeQueries
from spade_pyserini.models.protocols import DocumentEncoder

ALPHAS = tuple(step / 10 for step in range(11))  # the paper's grid


@dataclass(frozen=True)
class SweepOptions:
    """The grid of a sweep and its measures.

    alpha: weights of term expansion, the paper's alpha.
    gamma: shares of documents, the paper's gamma; a term in a larger share of the expansion vectors
        is removed from all vectors. A gamma of 1 removes no term.
    k: numbers of expansion terms per token; by default, the k of the components.
    prune_ratio: fractions of a document's largest weight; terms with smaller weights are dropped.
        By default, the ratio of the components.
    measures: the measures of each setting.
    level: the lowest grade that binary measures count as relevant.
    overwrite: discard the results of earlier calls.
    queries: creates the query encoder, for vectors that need a neural one. The time to encode
        queries is part of the latency.
    """

    alpha: Sequence[float] = ALPHAS
    gamma: Sequence[float] = (1.0,)
    k: Sequence[int] = ()
    prune_ratio: Sequence[float] = ()
    measures: Sequence[Measure] = DEFAULT_MEASURES
    level: int = 1
    overwrite: bool = False
    queries: MakeQueries | None = None

    def __post_init__(self) -> None:
        for name in ("alpha", "gamma", "prune_ratio"):
            if invalid := [value for value in getattr(self, name) if not 0 <= value <= 1]:
                raise UsageError(f"{name}={invalid[0]}: expected a number from 0 to 1")
        if 1 in self.prune_ratio:
            raise UsageError("prune_ratio=1: expected a number from 0 to below 1")


class Origin(NamedTuple):
    """The corpus and the encoder of the components, which are needed to encode with another k."""

    corpus: Corpus
    encoder: DocumentEncoder


class Setting(NamedTuple):
    """A combination of parameter values, a point of the grid."""

    alpha: float
    gamma: float
    k: int
    prune_ratio: float = 0.0
