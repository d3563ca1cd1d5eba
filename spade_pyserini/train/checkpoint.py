"""Checkpoints: everything a killed run needs to end with the same weights, and no pickle.

::

    RUN/checkpoint/state.json             step, position in the data, queues, best figures
    RUN/checkpoint/tensors.safetensors    weights, both optimisers, document frequencies, random

A checkpoint is written beside the last one and takes its place by renaming.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from spade_pyserini.errors import ArtifactError, SpadeError
from spade_pyserini.formats.files import read_sealed, remove, write_sealed
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.adapters import is_frozen

FORMAT = "spade_pyserini.checkpoint/1"
NAME = "checkpoint"


def save_checkpoint(run: Path, state: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write the run's checkpoint; the one before stays until this one is whole."""
    fresh, old = run / f"{NAME}.new", run / f"{NAME}.old"
    remove(fresh)
    fresh.mkdir(parents=True)
    copies = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    save_file(copies, fresh / "tensors.safetensors")
    write_sealed(fresh / "state.json", {"format": FORMAT, **state})
    remove(old)
    if (run / NAME).exists():
        (run / NAME).rename(old)
    fresh.rename(run / NAME)
    remove(old)


def load_checkpoint(run: Path) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
    """The newest whole checkpoint of a run, or None where there is none yet."""
    # Killed between the two renames, only the old one is there.
    folder = next((run / name for name in (NAME, f"{NAME}.old") if (run / name).is_dir()), None)
    if folder is None:
        return None
    try:
        state = read_sealed(folder / "state.json", FORMAT)
        return state, load_file(folder / "tensors.safetensors")
    except (SpadeError, SafetensorError, OSError) as error:
        message = f"{folder}: the checkpoint is damaged ({error})"
        raise ArtifactError(f"{message}; remove it to begin again") from None


def weight_tensors(model: SpadeModel) -> dict[str, Tensor]:
    """All of the model that training may change, for `save_checkpoint`."""
    frozen = model.config.adapter_rank > 0
    weights = model.state_dict()
    return {f"model.{x}": weights[x] for x in weights if not (frozen and is_frozen(x))}


def load_weights(model: SpadeModel, tensors: dict[str, Tensor]) -> None:
    """Undo `weight_tensors`."""
    prefix = "model."
    weights = {x.removeprefix(prefix): tensors[x] for x in tensors if x.startswith(prefix)}
    model.load_state_dict(weights, strict=not model.config.adapter_rank)


def optimiser_tensors(optimiser: torch.optim.Optimizer, prefix: str) -> dict[str, Tensor]:
    """Adam's moments and steps by name, for `save_checkpoint`."""
    return {
        f"{prefix}.{number}.{name}": value
        for number, moments in optimiser.state_dict()["state"].items()
        for name, value in moments.items()
    }


def load_optimiser(
    optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor], prefix: str
) -> None:
    """Undo `optimiser_tensors`."""
    states: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        if key.startswith(f"{prefix}."):
            number, name = key.removeprefix(f"{prefix}.").split(".")
            states.setdefault(int(number), {})[name] = value
    optimiser.load_state_dict(
        {"state": states, "param_groups": optimiser.state_dict()["param_groups"]}
    )
