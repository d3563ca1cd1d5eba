"""The files of a model of others: settings, names and shapes of tensors. Does not load torch."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from spade_pyserini.errors import ArtifactError, InputError
from spade_pyserini.formats.json_files import read_json_file
from spade_pyserini.models.hub import SUFFIX, WEIGHTS

CONFIG = "config.json"
INDEX = f"{WEIGHTS}.index.json"  # of weights in several files
MOST_BYTES = 1 << 24  # of a configuration
MOST_HEADER = 100_000_000  # bytes; the limit of the safetensors library


@dataclass(frozen=True)
class Checkpoint:
    """A folder with ``config.json`` and weights in safetensors, of transformers or alike."""

    folder: Path

    @cached_property
    def config(self) -> dict[str, Any]:
        """The settings of the model."""
        path = self.folder / CONFIG
        if not path.is_file():
            raise InputError("no config.json; this is not the folder of a model", self.folder)
        return read_json_file(path, MOST_BYTES)

    @property
    def architecture(self) -> str:
        """The class of the model, such as ``BertForMaskedLM``; empty if it is not stated."""
        names = self.config.get("architectures")
        return str(names[0]) if isinstance(names, list) and names else ""

    @cached_property
    def shapes(self) -> dict[str, list[int]]:
        """The shapes of all tensors by name."""
        return {name: shape for path in self.files for name, shape in _shapes(path).items()}

    @cached_property
    def files(self) -> list[Path]:
        """The files of the weights. Raises `InputError` if there are only pickled ones."""
        if (self.folder / WEIGHTS).is_file():
            return [self.folder / WEIGHTS]
        if (self.folder / INDEX).is_file():
            parts = read_json_file(self.folder / INDEX, MOST_BYTES).get("weight_map", {})
            names = sorted(set(parts.values())) if isinstance(parts, dict) else []
            if any(Path(name).name != name or not name.endswith(SUFFIX) for name in names):
                raise InputError("it names files outside its folder", self.folder / INDEX)
            if missing := [name for name in names if not (self.folder / name).is_file()]:
                message = f"{self.folder / missing[0]}: the file is missing"
                raise ArtifactError(f"{message}; copy or download the model again")
            return [self.folder / name for name in names]
        pickled = [*self.folder.glob("*.bin"), *self.folder.glob("*.pt"), *self.folder.glob("*.h5")]
        if pickled:
            message = f"the weights are in {pickled[0].name}, which can run code when it is loaded"
            cure = "convert them with `save_pretrained` of transformers, on a machine you can lose"
            raise InputError(f"{message}; only {WEIGHTS} is read: {cure}", self.folder)
        raise InputError(f"the folder has no {WEIGHTS}", self.folder)

    def require(self, names: list[str]) -> None:
        """Raise `ArtifactError` unless the weights have all tensors ``names``."""
        if missing := sorted(set(names) - self.shapes.keys()):
            shown = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
            message = f"{self.folder}: the weights lack {len(missing)} tensors ({shown})"
            raise ArtifactError(f"{message}; copy or download the model again")


def _shapes(path: Path) -> dict[str, list[int]]:
    """Read the header of a safetensors file: its length, then a JSON object."""
    try:
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if length > min(MOST_HEADER, path.stat().st_size):
                raise ValueError("the header is longer than the file")
            header = json.loads(stream.read(length))
        return {
            name: list(entry["shape"]) for name, entry in header.items() if name != "__metadata__"
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"{path}: not a safetensors file, or damaged ({error})"
        raise ArtifactError(f"{message}; copy or download the model again") from None
