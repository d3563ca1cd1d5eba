"""A bit flipped in every kind of file: damage is an error, never another result."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from spade_pyserini import ImpactSearcher, SpadeModel
from spade_pyserini.errors import SpadeError
from spade_pyserini.formats.vectors import read_vectors, verify
from spade_pyserini.train.checkpoint import load_checkpoint, save_checkpoint
from tests.commands import copy_artifact
from tests.faults.table import Faults, seed

pytestmark = pytest.mark.java
# A flip in the settings of a model, which people may edit, is reported as a warning only.
EDITABLE = {"config.json"}


@pytest.mark.parametrize("flips", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_a_flipped_bit_in_every_kind_of_file(
    tiny_index: Path, tiny_vectors: Path, tiny_model_folder: Path, tmp_path: Path, flips: int
) -> None:
    run = tmp_path / "training" / "run"
    save_checkpoint(run, {"step": 3}, {"x": torch.arange(50.0)})
    faults = Faults(seed())
    numbers = random.Random(faults.seed)
    artifacts: dict[str, tuple[Path, Callable[[Path], object]]] = {
        "index": (tiny_index, _search),
        "vectors": (tiny_vectors, _read),
        "model": (tiny_model_folder, _encode),
        "run": (run, _resume),
    }
    for kind, (source, use) in artifacts.items():
        expected = use(source)
        for name in _files(source):
            for flip in range(flips):
                copy = copy_artifact(
                    source, tmp_path / "copies" / f"{kind}.{name.replace('/', '_')}.{flip}"
                )
                _try_flip(faults, kind, copy.parent / name, use, copy, expected, numbers)
                shutil.rmtree(copy.parent)
    print(faults.table())
    assert not faults.broken, faults.table()


def _files(artifact: Path) -> list[str]:
    """The files of an artifact and those next to it, relative to its parent folder."""
    inside = [path for path in artifact.rglob("*") if path.is_file()]
    beside = [path for path in artifact.parent.glob(f"{artifact.name}.*") if path.is_file()]
    names = [path.relative_to(artifact.parent).as_posix() for path in (*inside, *beside)]
    return sorted(name for name in names if Path(name).name not in {"write.lock", *EDITABLE})


def _try_flip(
    faults: Faults,
    kind: str,
    path: Path,
    use: Callable[[Path], object],
    artifact: Path,
    expected: object,
    numbers: random.Random,
) -> None:
    content = bytearray(path.read_bytes())
    bit = numbers.randrange(8 * len(content))
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)
    try:
        survived = use(artifact) == expected
        outcome = "another result"
    except SpadeError:
        survived, outcome = True, ""
    except Exception as error:
        survived, outcome = False, f"{type(error).__name__}: {error}"
    faults.record(f"flipped bit, {kind}", survived, f"{path.name}, bit {bit}: {outcome}")


def _search(index: Path) -> object:
    with ImpactSearcher(index) as searcher:
        return searcher.search("the old cat sleeps", 100), searcher.doc("d3")


def _read(folder: Path) -> object:
    verify(folder)
    return list(read_vectors(folder))


def _encode(folder: Path) -> object:
    return SpadeModel.from_pretrained(folder).encode(["the old cat", "a red river"])


def _resume(run: Path) -> object:
    checkpoint = load_checkpoint(run)
    assert checkpoint is not None
    state, tensors = checkpoint
    return state, {name: tensor.tolist() for name, tensor in tensors.items()}
