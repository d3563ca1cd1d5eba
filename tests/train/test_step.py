"""The gradient of a batch does not depend on micro-batches and processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeModel
from spade_pyserini.train import Recipe
from spade_pyserini.train.run import start_accelerator
from spade_pyserini.train.step import backward
from tests.conftest import ROOT


def gradients(
    model: SpadeModel,
    documents: list[list[int]],
    micro_batch: int,
    seen: list[torch.Tensor] | None = None,
) -> tuple[dict[str, float], dict[str, torch.Tensor]]:
    """Return the parts of the loss and the gradients; append all vectors to ``seen``."""
    from spade_pyserini.models.tensors import pad_batch
    from spade_pyserini.train import losses

    accelerator = start_accelerator(Recipe())
    queries = torch.zeros(4, len(model.kept))
    queries[:, 60:80:3] = 1

    def loss(vectors: torch.Tensor) -> dict[str, torch.Tensor]:
        relevance = losses.scores(queries, vectors)
        return {
            "ranking": losses.ranking_loss(relevance, torch.arange(4)),
            "pointwise": losses.pointwise_loss(queries, vectors[:4]),
        }

    def encode(ids: list[list[int]]) -> torch.Tensor:
        own, added = model(*pad_batch(ids, torch.device("cpu")))
        vectors: torch.Tensor = own + added
        if seen is not None:
            seen.append(vectors.detach())
        return vectors

    model.zero_grad()
    parameters = list(model.parameters())
    _, parts = backward(
        accelerator,
        encode,
        documents,
        loss,
        micro_batch=micro_batch,
        parameters=parameters,
    )
    computed = {
        name: parameter.grad.clone()
        for name, parameter in model.named_parameters()
        if parameter.grad is not None
    }
    return parts, computed


DOCUMENTS = [[2, number, number + 20, 70 + number, 3] for number in range(10, 18)]


@pytest.mark.parametrize("micro_batch", [1, 3, 5])
def test_the_gradient_does_not_depend_on_accumulation(
    tiny_model: SpadeModel, micro_batch: int
) -> None:
    model = tiny_model.eval()
    parts, complete = gradients(model, DOCUMENTS, 8)
    again, accumulated = gradients(model, DOCUMENTS, micro_batch)
    assert again == pytest.approx(parts, abs=1e-5)
    assert complete.keys() == accumulated.keys()
    for name, gradient in complete.items():
        assert torch.allclose(accumulated[name], gradient, atol=1e-5), name
    assert any(gradient.abs().max() > 1e-3 for gradient in complete.values())


def test_dropout_draws_the_same_in_both_passes(tiny_model_folder: Path) -> None:
    model = SpadeModel.from_pretrained(tiny_model_folder).train()
    seen: list[torch.Tensor] = []
    gradients(model, DOCUMENTS, 4, seen)
    first, second, first_again, second_again = seen
    assert torch.allclose(first, first_again, atol=1e-5)
    assert torch.allclose(second, second_again, atol=1e-5)
    gradients(model, DOCUMENTS, 4, seen)
    assert not torch.allclose(first, seen[4], atol=1e-2)  # another call has other dropout masks


TWO_PROCESSES = """
import sys, torch
from spade_pyserini import SpadeModel
from tests.train.test_step import DOCUMENTS, gradients
from safetensors.torch import save_file
from accelerate import PartialState
model = SpadeModel.from_pretrained(sys.argv[1]).eval()
parts, computed = gradients(model, DOCUMENTS, int(sys.argv[3]))
state = PartialState()
assert state.num_processes == 2
if state.is_main_process:
    save_file(computed, sys.argv[2])
torch.distributed.destroy_process_group()
"""


def test_two_gloo_processes_have_the_gradient_of_one(
    tiny_model_folder: Path, tmp_path: Path
) -> None:
    from safetensors.torch import load_file

    script = tmp_path / "two.py"
    script.write_text(TWO_PROCESSES)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc_per_node", "2", str(script), str(tiny_model_folder)]
    command += [str(tmp_path / "g.safetensors"), "3"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ACCELERATE_USE_CPU": "true"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    _, complete = gradients(SpadeModel.from_pretrained(tiny_model_folder).eval(), DOCUMENTS, 8)
    computed = load_file(tmp_path / "g.safetensors")
    assert complete.keys() == computed.keys()
    for name, gradient in complete.items():
        assert torch.allclose(computed[name], gradient, atol=1e-5), name
