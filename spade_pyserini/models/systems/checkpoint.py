"""The files of a published model: settings, tensor names and shapes. Does not load torch."""

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
INDEX = f"{WEIGHTS}.index.json"  # lists the files of the weights if there are several
MOST_BYTES = 1 << 24  # largest size of a JSON file
MOST_HEADER = 100_000_000  # largest size of a header in bytes, as in the safetensors library


@dataclass(frozen=True)
class Checkpoint:
    """A folder with ``config.json`` and weights in safetensors files, as transformers saves it."""

    folder: Path

    @cached_property
    def config(self) -> dict[str, Any]:
        """The settings of the model."""
        path = self.folder / CONFIG
        if not path.is_file():
            raise InputError("no config.json; give the folder of a model", self.folder)
        return read_json_file(path, MOST_BYTES)

    @property
    def architecture(self) -> str:
        """The class of the model, such as ``BertForMaskedLM``; empty if config.json names none."""
        names = self.config.get("architectures")
        return str(names[0]) if isinstance(names, list) and names else ""

    @cached_property
    def shapes(self) -> dict[str, list[int]]:
        """The shapes of all tensors by name."""
        return {name: shape for path in self.files for name, shape in _shapes(path).items()}

    @property
    def size(self) -> int:
        """The number of bytes of the weights."""
        return sum(path.stat().st_size for path in self.files)

    @cached_property
    def files(self) -> list[Path]:
        """The safetensors files. Raises `InputError` if the folder has none."""
        if (self.folder / WEIGHTS).is_file():
            return [self.folder / WEIGHTS]
        if (self.folder / INDEX).is_file():
            parts = read_json_file(self.folder / INDEX, MOST_BYTES).get("weight_map", {})
            names = (
                sorted({str(name) for name in parts.values()}) if isinstance(parts, dict) else []
            )
            if any(Path(name).name != name or not name.endswith(SUFFIX) for name in names):
                message = f"it may name only files in its own folder that end in {SUFFIX}"
                raise InputError(f"{message}; download the model again", self.folder / INDEX)
            if missing := [name for name in names if not (self.folder / name).is_file()]:
                message = f"{self.folder / missing[0]}: the file is missing"
                raise ArtifactError(f"{message}; copy or download the model again")
            return [self.folder / name for name in names]
        pickled = [*self.folder.glob("*.bin"), *self.folder.glob("*.pt"), *self.folder.glob("*.h5")]
        if pickled:
            message = f"the weights are in {pickled[0].name}, which can run code when it is loaded"
            cure = "on an isolated machine, convert the model with transformers' `save_pretrained`"
            raise InputError(f"{message}; only safetensors files are read: {cure}", self.folder)
        raise InputError(f"the folder has no {WEIGHTS}; give the folder of a model", self.folder)

    def require(self, names: list[str]) -> None:
        """Raise `ArtifactError` unless the weights have all tensors ``names``."""
        if missing := sorted(set(names) - self.shapes.keys()):
            shown = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
            message = f"{self.folder}: the weights lack {len(missing)} tensors ({shown})"
            raise ArtifactError(f"{message}; copy or download the model again")


def _shapes(path: Path) -> dict[str, list[int]]:
    """Read the shapes of the tensors from the header of a safetensors file.

    The first 8 bytes of the file are the length of the header, which follows them as JSON.
    """
    try:
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if length > min(MOST_HEADER, path.stat().st_size):
                raise ValueError("the stated length of the header is too large")
            header = json.loads(stream.read(length))
        return {
            name: list(entry["shape"]) for name, entry in header.items() if name != "__metadata__"
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"{path}: not a safetensors file, or damaged ({error})"
        raise ArtifactError(f"{message}; copy or download the model again") from None
