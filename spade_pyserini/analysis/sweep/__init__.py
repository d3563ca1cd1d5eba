"""Measure effectiveness, latency and index size at values of alpha, gamma, k, prune_ratio."""

from typing import TYPE_CHECKING

from spade_pyserini._lazy import lazy

if TYPE_CHECKING:
    from spade_pyserini.analysis.sweep.options import Origin, SweepOptions
    from spade_pyserini.analysis.sweep.run import sweep

__all__ = ["Origin", "SweepOptions", "sweep"]
__getattr__ = lazy(__name__, {"options": ["Origin", "SweepOptions"], "run": ["sweep"]})
