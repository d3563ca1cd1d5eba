"""Effectiveness, latency and index size over alpha, gamma and k."""

from typing import TYPE_CHECKING

from spade_pyserini.lazy import lazy

if TYPE_CHECKING:
    from spade_pyserini.sweep.run import sweep

__all__ = ["sweep"]
__getattr__ = lazy(__name__, {"run": ["sweep"]})
