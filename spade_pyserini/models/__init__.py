"""SpaDE models: the dual document encoder, encoding, loading and saving."""

from typing import TYPE_CHECKING

from spade_pyserini._lazy import lazy

if TYPE_CHECKING:
    from spade_pyserini.models.config import SpadeConfig
    from spade_pyserini.models.encoder import SpadeEncoder
    from spade_pyserini.models.spade import SpadeModel

__all__ = ["SpadeConfig", "SpadeEncoder", "SpadeModel"]
__getattr__ = lazy(
    __name__,
    {"config": ["SpadeConfig"], "encoder": ["SpadeEncoder"], "spade": ["SpadeModel"]},
)
