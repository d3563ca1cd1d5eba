"""Evaluate runs against relevance judgements."""

from typing import TYPE_CHECKING

from spade_pyserini._lazy import lazy

if TYPE_CHECKING:
    from spade_pyserini.evaluate.comparison import Comparison, compare_runs, read_runs
    from spade_pyserini.evaluate.measures import DEFAULT_MEASURES, evaluate_run, parse_measures

__all__ = [
    "DEFAULT_MEASURES",
    "Comparison",
    "compare_runs",
    "evaluate_run",
    "parse_measures",
    "read_runs",
]
__getattr__ = lazy(
    __name__,
    {
        "comparison": ["Comparison", "compare_runs", "read_runs"],
        "measures": ["DEFAULT_MEASURES", "evaluate_run", "parse_measures"],
    },
)
