"""Several worker processes on one machine."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from spade_pyserini import (
    SpadeModel,
    encode_corpus,
    open_corpus,
)
from spade_pyserini.corpora import Corpus
from spade_pyserini.corpora.checks import LocatedDocument, OnError
from spade_pyserini.corpora.readers import read_files
from spade_pyserini.corpora.segment import Segmentation, segmented
from spade_pyserini.encode import EncodeOptions
from spade_pyserini.errors import ArtifactError, SpadeError, UsageError
from spade_pyserini.formats.vector_manifest import VectorManifest
from spade_pyserini.sharding.processes import devices, queued_results, received_results
from tests.conftest import file_bytes, write_corpus


def test_two_processes_write_the_same_bytes(
    corpus_of_95: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    corpus = open_corpus(str(corpus_of_95))
    single, double = EncodeOptions(shard_size=10), EncodeOptions(shard_size=10, processes=2)
    manifest = encode_corpus(corpus, tiny_model, tmp_path / "one", single)
    assert encode_corpus(corpus, tiny_model, tmp_path / "two", double) == manifest
    assert file_bytes(tmp_path / "one") == file_bytes(tmp_path / "two")
    (tmp_path / "two" / "docs0003.jsonl.gz").unlink()
    assert encode_corpus(corpus, tiny_model, tmp_path / "two", double) == manifest
    assert file_bytes(tmp_path / "one") == file_bytes(tmp_path / "two")


def half_for_others(path: Path, seen: Path, on_error: OnError) -> Iterator[LocatedDocument]:
    """Yield the complete corpus to the first reader, and half of it to the others."""
    documents = list(read_files([path], on_error))
    try:
        seen.touch(exist_ok=False)
    except FileExistsError:
        documents = documents[: len(documents) // 2]
    yield from documents


def test_workers_that_read_different_corpora_do_not_finish(
    tiny_model: SpadeModel, tmp_path: Path
) -> None:
    path = write_corpus(tmp_path / "c", 40) / "corpus.jsonl"
    corpus = Corpus("c", "c", partial(half_for_others, path, tmp_path / "seen"))
    with pytest.raises(ArtifactError, match=r"different corpora, of 20 and 40 documents"):
        encode_corpus(corpus, tiny_model, tmp_path / "x", EncodeOptions(shard_size=10, processes=2))
    assert not VectorManifest.load(tmp_path / "x").complete


def two_processes(model: Path, folder: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """Start an encoding; after its first shard, return it and the ids of its two workers."""
    corpus = write_corpus(folder / "corpus", 3000)
    command = [sys.executable, "-m", "spade_pyserini.encode", "--corpus", str(corpus)]
    command += ["--model", str(model), "--shard-size", "10", "--processes", "2"]
    command += ["--output", str(folder / "x")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    manifest = folder / "x.manifest.json"
    while not (manifest.exists() and json.loads(manifest.read_text())["shards"]):
        assert process.poll() is None
        time.sleep(0.01)
    children = subprocess.run(
        ["pgrep", "-P", str(process.pid), "-f", "spawn_main"],
        capture_output=True,
        check=True,
        text=True,
    )
    return process, [int(pid) for pid in children.stdout.split()]


def test_workers_do_not_outlive_their_parent(tiny_model_folder: Path, tmp_path: Path) -> None:
    process, workers = two_processes(tiny_model_folder, tmp_path)
    assert len(workers) == 2
    process.kill()
    process.communicate(timeout=60)
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < deadline, "a worker is still there"
        time.sleep(0.05)


def test_a_dead_worker_is_reported(tiny_model_folder: Path, tmp_path: Path) -> None:
    process, workers = two_processes(tiny_model_folder, tmp_path)
    os.kill(workers[0], signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "a worker was ended by signal 9" in errors and "run the same command again" in errors
    assert "Traceback" not in errors
    assert VectorManifest.load(tmp_path / "x").shards


def test_a_dead_worker_is_reported_while_others_send_messages() -> None:
    worker = SimpleNamespace(exitcode=None)
    messages = itertools.chain([("result", "shard")], progress_messages())
    channel = SimpleNamespace(get=lambda timeout: next(messages))
    results: Iterator[Any] = received_results([worker], channel, lambda *_: None)
    assert next(results) == "shard"
    worker.exitcode = -signal.SIGKILL
    with pytest.raises(SpadeError, match="a worker was ended by signal 9"):
        next(results)


def progress_messages() -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the messages of a busy worker for five seconds."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        time.sleep(0.01)
        yield "progress", (1, 2)


def test_results_in_the_queue_are_received_after_a_failure() -> None:
    messages = multiprocessing.get_context("spawn").Queue()
    sent = [("progress", (1, 2)), ("result", "one"), ("end", 0), ("result", "other")]
    for message in sent:
        messages.put(message)
    deadline = time.monotonic() + 10
    while messages.qsize() < len(sent):
        assert time.monotonic() < deadline
    time.sleep(0.2)  # meanwhile, the thread of the queue writes to its pipe
    assert [str(result) for result in queued_results(messages)] == ["one", "other"]


def test_a_corpus_can_be_sent_to_other_processes(corpus_of_95: Path, tmp_path: Path) -> None:
    plain = open_corpus(str(corpus_of_95))
    for corpus in (plain, segmented(plain, Segmentation(3, 2)), open_corpus("pydoc")):
        copy = pickle.loads(pickle.dumps(corpus))  # noqa: S301
        assert next(iter(copy)) == next(iter(corpus))
    assert plain.count() == 95
    assert segmented(plain, Segmentation(3, 2)).count() is None


@pytest.mark.parametrize(("device", "processes"), [("cuda:1", 2), ("cuda:0", 3)])
def test_each_process_has_a_gpu_of_its_own(
    monkeypatch: pytest.MonkeyPatch, device: str, processes: int
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert devices("cuda:0", 2) == ["cuda:0", "cuda:1"]
    assert devices("cpu", 2) == ["cpu", "cpu"]
    with pytest.raises(UsageError, match=f"processes={processes}"):
        devices(device, processes)
