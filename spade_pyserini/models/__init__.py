"""SpaDE's dual document encoder."""

from spade_pyserini.models.config import SpadeConfig
from spade_pyserini.models.spade import SpadeModel

__all__ = ["SpadeConfig", "SpadeModel"]
