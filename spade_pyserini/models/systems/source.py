"""The argument of the functions that load a system: the folder and the name of the model."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Source(NamedTuple):
    """A model to load.

    folder: the folder of the model. name: the model's name in manifests. fold: multiply document
    vectors by the weights of query terms, if the model has a table of such weights.
    """

    folder: Path
    name: str
    fold: bool = True
