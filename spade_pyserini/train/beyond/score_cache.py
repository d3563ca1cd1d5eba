"""A cache of arrays on disk, for scores and embeddings of teachers.

The name of a file is the digest of everything that the array depends on, so a folder can hold the
arrays of several models and texts. Files contain a checksum. If a file is damaged, its array is
computed again.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spade_pyserini.errors import SpadeError
from spade_pyserini.formats.sealed_json import read_sealed, write_sealed

if TYPE_CHECKING:
    from numpy.typing import NDArray

logger = logging.getLogger(__name__)
FORMAT = "spade_pyserini.scores/1"


class ScoreCache:
    """Arrays of 32-bit floats in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(
        self, key: Sequence[Any], compute: Callable[[], NDArray[np.float32]]
    ) -> NDArray[np.float32]:
        """Return the array of ``key``, a list of JSON values, from the cache, or compute the array.

        A new array is saved before it is returned, so a run that continues after a kill reads it.
        """
        digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()
        path = self.folder / f"{digest[:32]}.json"
        if path.is_file():
            try:
                return _unpack(read_sealed(path, FORMAT))
            except (SpadeError, ValueError):
                logger.warning("%s is damaged; its scores are computed again", path)
        array = np.asarray(compute(), np.float32)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_sealed(path, {"format": FORMAT, **_pack(array)})
        return array


def _pack(array: NDArray[np.float32]) -> dict[str, Any]:
    data = base64.b64encode(array.astype("<f4").tobytes()).decode()
    return {"shape": list(array.shape), "data": data}


def _unpack(values: dict[str, Any]) -> NDArray[np.float32]:
    array = np.frombuffer(base64.b64decode(values["data"]), "<f4")
    return array.reshape(values["shape"]).astype(np.float32)
