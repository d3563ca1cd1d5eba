"""Checkpoints. A killed run continues from its last checkpoint and reaches the same weights.

::

    RUN/checkpoint/state.json             step, position in the data, queues, best figures
    RUN/checkpoint/tensors.safetensors    weights, optimizers, document frequencies, random states

A new checkpoint is written to another folder. The folder is then renamed to replace the previous
checkpoint. No pickle is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import torch
from accelerate import Accelerator
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from spade_pyserini.errors import ArtifactError, SpadeError
from spade_pyserini.formats.digests import sha256
from spade_pyserini.formats.paths import remove
from spade_pyserini.formats.sealed_json import read_sealed, write_sealed
from spade_pyserini.models.adapters import has_adapters, is_frozen
from spade_pyserini.models.tensor_files import write_tensors

FORMAT = "spade_pyserini.checkpoint/1"
NAME = "checkpoint"
RANDOM = "random."
TENSORS = "tensors.safetensors"
DIGEST = "tensors_sha256"


class Counter(Protocol):
    """An object whose state consists of tensors, such as `DocumentFrequency`."""

    def state_dict(self) -> dict[str, Tensor]: ...

    def load_state_dict(self, state: dict[str, Tensor]) -> None: ...


class TrainingState(NamedTuple):
    """Saves and restores the tensors of a run, for the stages ``train`` and ``masked-lm``.

    All processes of a run must call `save` and `restore`.

    counters: further objects whose tensors are saved, by name.
    """

    accelerator: Accelerator
    model: nn.Module
    optimizers: dict[str, torch.optim.Optimizer]
    counters: Mapping[str, Counter] = MappingProxyType({})

    def save(self, run: Path, state: dict[str, Any]) -> None:
        """Write the checkpoint of a run; ``state`` holds all values that are not tensors."""
        device = self.accelerator.device
        tensors = {f"{RANDOM}cpu": torch.get_rng_state()}
        if device.type == "cuda":
            tensors[f"{RANDOM}cuda"] = torch.cuda.get_rng_state(device)
        # Each of these tensors gets a row for each process.
        tensors = {x: self.accelerator.gather(tensors[x][None].to(device)) for x in tensors}
        if not self.accelerator.is_main_process:
            return
        tensors |= weight_tensors(self.model)
        for name, optimizer in self.optimizers.items():
            tensors |= optimizer_tensors(optimizer, f"optimiser.{name}")
        for name, counter in self.counters.items():
            tensors |= {f"{name}.{key}": value for key, value in counter.state_dict().items()}
        save_checkpoint(run, state, tensors)

    def restore(self, run: Path) -> dict[str, Any] | None:
        """Load the checkpoint of a run; returns the values given to `save`, or None."""
        if self.accelerator.is_main_process:
            remove_leftovers(run)
        checkpoint = load_checkpoint(run)
        if checkpoint is None:
            return None
        state, tensors = checkpoint
        load_weights(self.model, tensors)
        for name, optimizer in self.optimizers.items():
            load_optimizer(optimizer, tensors, name)
        for name, counter in self.counters.items():
            counter.load_state_dict(_with_prefix(tensors, f"{name}."))
        self._restore_random_states(_with_prefix(tensors, RANDOM))
        return state

    def _restore_random_states(self, states: dict[str, Tensor]) -> None:
        row, device = self.accelerator.process_index, self.accelerator.device
        # Earlier versions of the masked-LM stage saved a single state, not a row for each process.
        rows = {name: state.view(-1, state.shape[-1]) for name, state in states.items()}
        own = {name: state[row % len(state)].clone() for name, state in rows.items()}
        torch.set_rng_state(own["cpu"])
        if "cuda" in own and device.type == "cuda":
            torch.cuda.set_rng_state(own["cuda"], device)


def save_checkpoint(run: Path, state: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write the checkpoint of a run. Until it is complete, the previous checkpoint stays."""
    fresh, old = run / f"{NAME}.new", run / f"{NAME}.old"
    remove(fresh)
    fresh.mkdir(parents=True)
    copies = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    digest = write_tensors(fresh / TENSORS, copies)
    write_sealed(fresh / "state.json", {"format": FORMAT, DIGEST: digest, **state})
    remove(old)
    if (run / NAME).exists():
        (run / NAME).rename(old)
    fresh.rename(run / NAME)
    remove(old)


def remove_leftovers(run: Path) -> None:
    """Remove the temporary folders of a run that was killed while it saved a checkpoint."""
    remove(run / f"{NAME}.new")
    if (run / NAME).is_dir():
        remove(run / f"{NAME}.old")


def load_checkpoint(run: Path) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
    """Return the newest complete checkpoint of a run, or None if the run has no checkpoint."""
    # A run that was killed while `save_checkpoint` renamed folders has only the old checkpoint.
    folder = next((run / name for name in (NAME, f"{NAME}.old") if (run / name).is_dir()), None)
    if folder is None:
        return None
    try:
        state = read_sealed(folder / "state.json", FORMAT)
        # Earlier versions wrote no digest.
        if state.pop(DIGEST, None) not in (None, sha256(folder / TENSORS)):
            raise ArtifactError(f"{TENSORS} differs from its digest")
        return state, load_file(folder / TENSORS)
    except (SpadeError, SafetensorError, OSError) as error:
        message = f"{folder}: the checkpoint is damaged ({error})"
        raise ArtifactError(f"{message}; remove it to start the run again") from None


def weight_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return the model's tensors for `save_checkpoint`.

    If the model has adapters, the frozen tensors are left out.
    """
    weights = model.state_dict()
    frozen = has_adapters(model)
    return {f"model.{x}": weights[x] for x in weights if not (frozen and is_frozen(x))}


def load_weights(model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Restore tensors that `weight_tensors` returned."""
    model.load_state_dict(_with_prefix(tensors, "model."), strict=not has_adapters(model))


def optimizer_tensors(optimizer: torch.optim.Optimizer, prefix: str) -> dict[str, Tensor]:
    """Return Adam's moments and step counts by name, for `save_checkpoint`."""
    return {
        f"{prefix}.{number}.{name}": value
        for number, moments in optimizer.state_dict()["state"].items()
        for name, value in moments.items()
    }


def load_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor], name: str) -> None:
    """Restore tensors that `optimizer_tensors` returned."""
    states: dict[int, dict[str, Tensor]] = {}
    # Earlier versions of the masked-LM stage saved their only optimizer without a name.
    for prefix in ("optimiser.", f"optimiser.{name}."):
        for key, value in _with_prefix(tensors, prefix).items():
            number, _, moment = key.partition(".")
            if number.isdigit():
                states.setdefault(int(number), {})[moment] = value
    optimizer.load_state_dict(
        {"state": states, "param_groups": optimizer.state_dict()["param_groups"]}
    )


def _with_prefix(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the tensors whose names begin with the prefix; the prefix is removed."""
    return {x.removeprefix(prefix): tensors[x] for x in tensors if x.startswith(prefix)}
