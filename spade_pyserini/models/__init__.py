"""SpaDE's dual document encoder, and what it is made of."""

from typing import TYPE_CHECKING

from spade_pyserini._lazy import lazy

if TYPE_CHECKING:
    from spade_pyserini.models.config import SpadeConfig
    from spade_pyserini.models.spade import SpadeModel

__all__ = ["SpadeConfig", "SpadeModel"]
__getattr__ = lazy(__name__, {"config": ["SpadeConfig"], "spade": ["SpadeModel"]})
