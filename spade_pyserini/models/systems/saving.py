"""Write a trained system in the layout in which models of its kind are published."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from torch import Tensor

from spade_pyserini.formats.exchange import exchange
from spade_pyserini.formats.json_files import write_json
from spade_pyserini.formats.temporary import temporary_folder
from spade_pyserini.models.adapters import has_adapters, merged_transformer
from spade_pyserini.models.hub import WEIGHTS
from spade_pyserini.models.systems.checkpoint import CONFIG
from spade_pyserini.models.systems.system import System
from spade_pyserini.models.tensor_files import write_tensors


def save_system(system: System, folder: Path, max_length: int, *, half: bool = False) -> None:
    """Write ``config.json``, the weights and the tokenizer; adapters are merged into the weights.

    max_length: number of tokens of a document that the loaded model reads. ``half`` stores the
    weights in 16 bits. An existing folder is replaced after all files are written.
    """
    merged = without_adapters(system)
    config, tensors = merged.published()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(folder) as temporary:
        staging = temporary / folder.name
        staging.mkdir()
        # `architectures` is the class name from which `recognise` identifies the system.
        write_json(staging / CONFIG, {**_plain(config), "architectures": [merged.architecture]})
        write_json(staging / "tokenizer_config.json", _tokenizer_config(max_length))
        merged.wordpieces.save(staging / "tokenizer.json")
        write_tensors(staging / WEIGHTS, {name: _saved(x, half) for name, x in tensors.items()})
        if folder.exists():  # replace the old model in one step
            exchange(staging, folder)
        else:
            staging.replace(folder)


def without_adapters(system: System) -> System:
    """Return a copy of the system with the adapters merged into the weights.

    A system without adapters is returned unchanged.
    """
    if not has_adapters(system):
        return system
    merged = copy.deepcopy(system)
    for owner, name in merged.transformers:
        setattr(owner, name, merged_transformer(getattr(owner, name)))
    return merged


def _plain(config: dict[str, Any]) -> dict[str, Any]:
    """Leave out the settings that describe the files of the original model."""
    left_out = ("_name_or_path", "dtype", "torch_dtype", "transformers_version")
    return {name: value for name, value in config.items() if name not in left_out}


def _tokenizer_config(max_length: int) -> dict[str, Any]:
    return {"tokenizer_class": "BertTokenizer", "model_max_length": max_length}


def _saved(tensor: Tensor, half: bool) -> Tensor:
    copied = tensor.detach().cpu().clone().contiguous()
    return copied.half() if half and copied.is_floating_point() else copied
