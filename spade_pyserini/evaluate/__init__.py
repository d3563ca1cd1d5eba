"""Scoring runs against relevance judgements."""

from typing import TYPE_CHECKING

from spade_pyserini.lazy import lazy

if TYPE_CHECKING:
    from spade_pyserini.evaluate.comparison import Comparison, compare_runs, read_runs
    from spade_pyserini.evaluate.measures import DEFAULT_MEASURES, evaluate_run, parse_measures
    from spade_pyserini.evaluate.qrels import read_qrels, relevance_level

__all__ = [
    "DEFAULT_MEASURES",
    "Comparison",
    "compare_runs",
    "evaluate_run",
    "parse_measures",
    "read_qrels",
    "read_runs",
    "relevance_level",
]
__getattr__ = lazy(
    __name__,
    {
        "comparison": ["Comparison", "compare_runs", "read_runs"],
        "measures": ["DEFAULT_MEASURES", "evaluate_run", "parse_measures"],
        "qrels": ["read_qrels", "relevance_level"],
    },
)
