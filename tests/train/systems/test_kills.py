"""A training that is killed continues when the same command runs again, with the same result."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from spade_pyserini.train import Recipe, train
from spade_pyserini.train.checkpoint import load_checkpoint
from tests.train.systems.recipes import of_system


def test_kill_9_and_continue(recipe: Recipe, tmp_path: Path) -> None:
    settings = of_system(recipe, "splade", steps=24, validate_every=1, adapter_rank=2, flops=0.01)
    best = train(settings, tmp_path / "complete")
    values = {name: x for name, x in settings.flat().items() if x is not None}
    command = [sys.executable, "-m", "spade_pyserini", "train", "--recipe", "smoke"]
    for name, value in values.items():
        text = json.dumps(list(value) if isinstance(value, tuple) else value)
        command += ["--set", f"{name}={text}"]
    command += ["--output", str(tmp_path / "killed")]
    process = subprocess.Popen(command)
    state = tmp_path / "killed" / "checkpoint" / "state.json"
    deadline = time.monotonic() + 300
    while not state.exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(0.2)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    checkpoint = load_checkpoint(tmp_path / "killed")
    assert checkpoint is not None and checkpoint[0]["step"] < 24
    assert subprocess.run(command, check=False).returncode == 0
    for name in ("checkpoint/tensors.safetensors", "best/model.safetensors"):
        complete, killed = (tmp_path / run / name for run in ("complete", "killed"))
        assert complete.read_bytes() == killed.read_bytes()
    assert (best / "README.md").read_text() == (tmp_path / "killed/best/README.md").read_text()
