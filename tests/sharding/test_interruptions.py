"""Kills, Ctrl-C and a full disk lose no finished shard."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spade_pyserini import (
    SpadeModel,
    encode_corpus,
    open_corpus,
)
from spade_pyserini.encode import EncodeOptions
from spade_pyserini.formats.vector_manifest import VectorManifest
from spade_pyserini.formats.vectors import verify
from tests.commands import Commands, fill_disk
from tests.conftest import file_bytes, write_corpus


def test_kill_9_then_the_same_command_completes(
    tiny_model_folder: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "corpus", 400)
    command = [sys.executable, "-m", "spade_pyserini.encode", "--corpus", str(corpus)]
    command += ["--model", str(tiny_model_folder), "--shard-size", "10"]
    process = subprocess.Popen([*command, "--output", str(tmp_path / "killed")])
    manifest = tmp_path / "killed.manifest.json"
    deadline = time.monotonic() + 120
    while not (manifest.exists() and json.loads(manifest.read_text())["shards"]):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    interrupted = VectorManifest.load(tmp_path / "killed")
    assert not interrupted.complete
    kept = {
        shard.file: (tmp_path / "killed" / shard.file).stat().st_mtime_ns
        for shard in interrupted.shards
    }
    options = EncodeOptions(model_name=tiny_model_folder.name, shard_size=10)
    for folder in ("killed", "reference"):
        encode_corpus(open_corpus(str(corpus)), tiny_model, tmp_path / folder, options)
    assert file_bytes(tmp_path / "killed") == file_bytes(tmp_path / "reference")
    for file, modified in kept.items():
        assert (tmp_path / "killed" / file).stat().st_mtime_ns == modified
    assert verify(tmp_path / "killed").documents == 400


def test_a_full_disk_loses_no_finished_shard(
    tiny_vectors: Path, tiny_corpus: Path, tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    arguments = ("--corpus", tiny_corpus, "--model", tiny_model_folder, "--output", tmp_path / "x")
    with pytest.MonkeyPatch.context() as patch:  # a real ENOSPC of the kernel
        fill_disk(patch, "docs0001.jsonl.gz")
        result = run("encode", *arguments, "--shard-size", 12)
    assert result.code == 1
    assert "the disk is full" in result.err
    assert "Traceback" not in result.err
    assert "docs0000.jsonl.gz" in file_bytes(tmp_path / "x")
    assert "docs0001.jsonl.gz" not in file_bytes(tmp_path / "x")
    assert run("encode", *arguments, "--shard-size", 12).code == 0
    assert file_bytes(tmp_path / "x") == file_bytes(tiny_vectors)


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_kills_at_random_moments(idf_model: SpadeModel, tmp_path: Path, processes: int) -> None:
    """The kills come while Python starts, while terms are counted, and while shards are written."""
    corpus, model = write_corpus(tmp_path / "corpus", 1500), tmp_path / "idf_model"
    idf_model.save_pretrained(model)
    command = [sys.executable, "-m", "spade_pyserini.encode", "--corpus", str(corpus)]
    command += ["--model", str(model), "--shard-size", "10"]
    command += ["--output", str(tmp_path / "killed"), "--processes", str(processes)]
    begun = tmp_path / "killed.lock"
    moments = random.Random(processes)
    unfinished = 0
    for awaited in (tmp_path, begun, tmp_path / "killed" / "docs0000.jsonl.gz", begun):
        begun.unlink(missing_ok=True)  # left by the previous run
        process = subprocess.Popen(command, start_new_session=True)
        while not awaited.exists():
            assert process.poll() is None
            time.sleep(0.005)
        time.sleep(moments.uniform(0, 0.4))
        os.killpg(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        manifest = tmp_path / "killed.manifest.json"
        unfinished += manifest.exists() and not VectorManifest.load(tmp_path / "killed").complete
    assert unfinished
    options = EncodeOptions(model_name=model.name, shard_size=10)
    for folder in ("killed", "reference"):
        encode_corpus(open_corpus(str(corpus)), idf_model, tmp_path / folder, options)
    assert file_bytes(tmp_path / "killed") == file_bytes(tmp_path / "reference")
    assert verify(tmp_path / "killed") == verify(tmp_path / "reference")
    assert not list(tmp_path.glob(".killed.docs*.tmp"))


def interruptible(model: Path, folder: Path, processes: int) -> subprocess.Popen[str]:
    """Start an encoding in a process group of its own."""
    corpus = write_corpus(folder / "corpus", 3000)
    command = [sys.executable, "-m", "spade_pyserini.encode", "--corpus", str(corpus)]
    command += ["--model", str(model), "--shard-size", "10"]
    command += ["--output", str(folder / "x"), "--processes", str(processes)]
    return subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # If a shell runs the tests in the background, their processes ignore SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )


def ctrl_c(process: subprocess.Popen[str]) -> None:
    """Send SIGINT to all processes of an encoding; check its exit code and its message."""
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "run the same command again" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ctrl_c_says_how_to_continue(
    tiny_model_folder: Path, tmp_path: Path, processes: int
) -> None:
    process = interruptible(tiny_model_folder, tmp_path, processes)
    manifest = tmp_path / "x.manifest.json"
    while not (manifest.exists() and json.loads(manifest.read_text())["shards"]):
        assert process.poll() is None
        time.sleep(0.01)
    ctrl_c(process)
    interrupted = VectorManifest.load(tmp_path / "x")
    assert interrupted.shards and not interrupted.complete


def test_ctrl_c_while_workers_start(tiny_model_folder: Path, tmp_path: Path) -> None:
    process = interruptible(tiny_model_folder, tmp_path, 2)
    workers = ["pgrep", "-P", str(process.pid), "-f", "spawn_main"]
    while subprocess.run(workers, capture_output=True, check=False).returncode:
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(1)  # so that the workers are importing torch when Ctrl-C arrives
    ctrl_c(process)
