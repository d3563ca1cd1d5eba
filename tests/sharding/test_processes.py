"""Encoding by several processes and machines, kills at any moment, bad documents, progress."""

from __future__ import annotations

import io
import itertools
import json
import multiprocessing
import os
import pickle
import queue
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, Mock

import pytest
import torch

from spade_pyserini import (
    SpadeModel,
    build_impact_index,
    encode_corpus,
    open_corpus,
    read_vectors,
)
from spade_pyserini.corpora import Corpus
from spade_pyserini.corpora.checks import Located, OnError
from spade_pyserini.corpora.readers import read_files
from spade_pyserini.corpora.segment import Segmentation, segmented
from spade_pyserini.encode import EncodeOptions, Part, merge_parts
from spade_pyserini.errors import ArtifactError, SpadeError, UsageError
from spade_pyserini.formats.vectors import VectorManifest, verify
from spade_pyserini.progress import Progress
from spade_pyserini.sharding.part import ALL_SHARDS, check_shards
from spade_pyserini.sharding.processes import devices, finished, run_processes
from spade_pyserini.sharding.worker import Job, ShardReader, Worker
from tests.commands import Commands
from tests.conftest import write_corpus
from tests.encode.test_corpus import shards
from tests.encode.test_counts_file import that_asks


def test_two_processes_write_the_same_bytes(
    many: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    corpus = open_corpus(str(many))
    one = encode_corpus(corpus, tiny_model, tmp_path / "one", EncodeOptions(shard_size=10))
    two = encode_corpus(
        corpus, tiny_model, tmp_path / "two", EncodeOptions(shard_size=10, processes=2)
    )
    assert one == two
    assert shards(tmp_path / "one") == shards(tmp_path / "two")
    (tmp_path / "two" / "docs0003.jsonl.gz").unlink()
    assert (
        encode_corpus(
            corpus, tiny_model, tmp_path / "two", EncodeOptions(shard_size=10, processes=2)
        )
        == one
    )
    assert shards(tmp_path / "one") == shards(tmp_path / "two")


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_kills_at_random_moments(tiny_model: SpadeModel, tmp_path: Path, processes: int) -> None:
    """While Python starts, when the corpus is being counted, when shards are coming."""
    corpus, model = write_corpus(tmp_path / "corpus", 1500), tmp_path / "asking"
    asking = that_asks(tiny_model)
    asking.save_pretrained(model)
    command = [sys.executable, "-m", "spade_pyserini.encode", "--corpus", str(corpus)]
    command += ["--model", str(model), "--shard-size", "10"]
    command += ["--output", str(tmp_path / "killed"), "--processes", str(processes)]
    begun = tmp_path / "killed.lock"
    moments = random.Random(processes)
    unfinished = 0
    for sign in (tmp_path, begun, tmp_path / "killed" / "docs0000.jsonl.gz", begun):
        begun.unlink(missing_ok=True)  # of the run before
        process = subprocess.Popen(command, start_new_session=True)
        while not sign.exists():
            assert process.poll() is None
            time.sleep(0.005)
        time.sleep(moments.uniform(0, 0.4))
        os.killpg(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        manifest = tmp_path / "killed.manifest.json"
        unfinished += manifest.exists() and not VectorManifest.load(tmp_path / "killed").complete
    assert unfinished
    whole = {"model_name": model.name, "shard_size": 10}
    encode_corpus(open_corpus(str(corpus)), asking, tmp_path / "killed", EncodeOptions(**whole))  # type: ignore[arg-type]
    encode_corpus(open_corpus(str(corpus)), asking, tmp_path / "whole", EncodeOptions(**whole))  # type: ignore[arg-type]
    assert shards(tmp_path / "killed") == shards(tmp_path / "whole")
    assert verify(tmp_path / "killed") == verify(tmp_path / "whole")
    assert not list(tmp_path.glob("killed.docs*.tmp"))


def half_for_one(path: Path, seen: Path, on_error: OnError) -> Iterator[Located]:
    """All of a corpus for the first reader, the first half for others."""
    documents = list(read_files([path], on_error))
    try:
        seen.touch(exist_ok=False)
    except FileExistsError:
        documents = documents[: len(documents) // 2]
    yield from documents


def test_workers_that_see_other_corpora_do_not_finish(
    tiny_model: SpadeModel, tmp_path: Path
) -> None:
    path = write_corpus(tmp_path / "c", 40) / "corpus.jsonl"
    corpus = Corpus("c", "c", partial(half_for_one, path, tmp_path / "seen"))
    with pytest.raises(ArtifactError, match=r"not all .* it had 20 and 40 documents"):
        encode_corpus(corpus, tiny_model, tmp_path / "x", EncodeOptions(shard_size=10, processes=2))
    assert not VectorManifest.load(tmp_path / "x").complete


def test_a_gap_is_no_whole(tiny_vectors: Path) -> None:
    manifest = verify(tiny_vectors)
    check_shards(tiny_vectors, ALL_SHARDS, manifest, 30)
    gap = replace(manifest, shards=[manifest.shards[0], manifest.shards[2]])
    for found, documents, place in ((gap, 30, 1), (manifest, 36, 2), (manifest, 37, 2)):
        with pytest.raises(ArtifactError, match=f"do not fit together at docs000{place}"):
            check_shards(tiny_vectors, ALL_SHARDS, found, documents)


def two_processes(model: Path, folder: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """An encoding of two processes that has finished a shard, and the ids of its workers."""
    corpus = write_corpus(folder / "corpus", 3000)
    command = [sys.executable, "-m", "spade_pyserini.encode", "--corpus", str(corpus)]
    command += ["--model", str(model), "--shard-size", "10", "--processes", "2"]
    command += ["--output", str(folder / "x")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    manifest = folder / "x.manifest.json"
    while not (manifest.exists() and json.loads(manifest.read_text())["shards"]):
        assert process.poll() is None
        time.sleep(0.01)
    found = subprocess.run(
        ["pgrep", "-P", str(process.pid), "-f", "spawn_main"],
        capture_output=True,
        check=True,
        text=True,
    )
    return process, [int(pid) for pid in found.stdout.split()]


def test_workers_do_not_outlive_their_parent(tiny_model_folder: Path, tmp_path: Path) -> None:
    process, workers = two_processes(tiny_model_folder, tmp_path)
    assert len(workers) == 2
    process.kill()
    process.communicate(timeout=60)
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < deadline, "a worker is still there"
        time.sleep(0.05)


def test_a_dead_worker_is_told(tiny_model_folder: Path, tmp_path: Path) -> None:
    process, workers = two_processes(tiny_model_folder, tmp_path)
    os.kill(workers[0], signal.SIGKILL)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "a worker ended by signal 9" in told and "run the same command again" in told
    assert "Traceback" not in told
    assert VectorManifest.load(tmp_path / "x").shards


def test_a_dead_worker_is_told_however_much_the_others_tell(
    tiny_model: SpadeModel, tiny_vectors: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, messages = MagicMock(), itertools.chain([("result", "one")], talk())
    context.Process.return_value = Mock(exitcode=None)
    context.Queue.return_value = Mock(
        get=lambda timeout: next(messages), get_nowait=Mock(side_effect=queue.Empty)
    )
    monkeypatch.setattr("torch.multiprocessing.get_context", lambda _: context)
    job = Job(Mock(), tiny_model, tiny_vectors, verify(tiny_vectors).settings, {})
    results = run_processes(job, ALL_SHARDS, 2, lambda *_: None)
    assert str(next(results)) == "one"
    context.Process.return_value.exitcode = -signal.SIGKILL
    with pytest.raises(SpadeError, match="a worker ended by signal 9"):
        next(results)


def talk() -> Iterator[tuple[str, tuple[int, int]]]:
    """A worker's progress for five seconds."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        time.sleep(0.01)
        yield "progress", (1, 2)


def test_what_others_have_finished_is_heard_when_one_fails() -> None:
    messages = multiprocessing.get_context("spawn").Queue()
    sent = [("progress", (1, 2)), ("result", "one"), ("end", 0), ("result", "other")]
    for message in sent:
        messages.put(message)
    deadline = time.monotonic() + 10
    while messages.qsize() < len(sent):
        assert time.monotonic() < deadline
    time.sleep(0.2)  # from the queue's thread into its pipe
    assert [str(result) for result in finished(messages)] == ["one", "other"]


@pytest.mark.slow
def test_a_bad_document_stops_every_process(
    many: Path, tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    path = many / "corpus.jsonl"
    lines = path.read_text().splitlines()
    lines[60] = "{"
    path.write_text("\n".join(lines))
    flags = ("--corpus", many, "--model", tiny_model_folder, "--output", tmp_path / "x")
    result = run("encode", *flags, "--shard-size", 10, "--processes", 2)
    assert result.code == 1
    assert f"{path}:61: not valid JSON" in result.err
    assert not VectorManifest.load(tmp_path / "x").complete


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_bad_documents_are_left_out_and_listed(
    many: Path, tiny_model_folder: Path, tmp_path: Path, run: Commands, processes: int
) -> None:
    path = many / "corpus.jsonl"
    good = path.read_bytes()
    lines = good.splitlines()
    lines[12] = b"{"
    lines[30] = lines[29]  # the same id twice
    lines[31] = b'{"_id": "", "text": "no name"}'
    lines[90] = b'{"_id": "latin", "text": "caf\xe9"}'
    path.write_bytes(b"\n".join(lines))
    place = ("--corpus", many, "--model", tiny_model_folder, "--output", tmp_path / "x")
    flags = (*place, "--shard-size", 10, "--processes", processes)
    result = run("encode", *flags, "--max-errors", 3)
    assert result.code == 1
    assert "more than --max-errors 3 bad documents" in result.err and ":91: byte" in result.err
    assert len((tmp_path / "x.errors.txt").read_text().splitlines()) == 4
    result = run("encode", *flags, "--max-errors", 4)
    assert result.code == 0, result.err
    assert "4 bad documents were left out" in result.err
    listed = (tmp_path / "x.errors.txt").read_text().splitlines()
    assert [line.split(":")[1] for line in sorted(listed)] == ["13", "31", "32", "91"]
    assert verify(tmp_path / "x").documents == 91
    assert len({vector.docid for vector in read_vectors(tmp_path / "x")}) == 91
    path.write_bytes(good)
    assert run("encode", *flags, "--overwrite").code == 0
    assert not (tmp_path / "x.errors.txt").exists()


def test_a_shard_is_taken_when_the_last_is_nearly_through(
    many: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    """Two shards and two workers: nobody sits on both."""
    corpus = open_corpus(str(many))
    manifest = encode_corpus(
        corpus, tiny_model, tmp_path / "x", EncodeOptions(shard_size=40, batch_tokens=64)
    )
    taken: list[int] = []
    seen: list[tuple[int, int]] = []
    encoded = 0

    def numbers() -> Iterator[int]:
        for number in itertools.count():
            taken.append(number)
            yield number

    def told(documents: int, terms: int) -> None:
        nonlocal encoded
        encoded += documents
        seen.append((encoded, len(taken)))

    job = Job(corpus, tiny_model, tmp_path / "y", manifest.settings, {})
    results = list(Worker(job, told).run(numbers()))
    assert [result.shard and result.shard.number for result in results] == [0, 1, 2, None]
    assert {count for documents, count in seen if documents <= 36} == {1}
    assert (40, 2) in seen
    assert shards(tmp_path / "x") == shards(tmp_path / "y")


def test_a_reader_goes_where_it_is_told(many: Path) -> None:
    corpus = open_corpus(str(many))
    documents = list(corpus)
    reader = ShardReader(corpus, 10, 0)
    for number in (0, 3, 2, 9, 10, 0):
        assert reader.read(number) == (documents[number * 10 : (number + 1) * 10], [])


def test_a_corpus_travels_to_other_processes(many: Path, tmp_path: Path) -> None:
    plain = open_corpus(str(many))
    for corpus in (plain, segmented(plain, Segmentation(3, 2)), open_corpus("pydoc")):
        copy = pickle.loads(pickle.dumps(corpus))  # noqa: S301
        assert next(iter(copy)) == next(iter(corpus))
    assert plain.count() == 95
    assert segmented(plain, Segmentation(3, 2)).count() is None


def test_progress_as_json_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    with closing(Progress("json", stream)) as progress:
        progress.expect(100)
        progress.skip(20, 200)  # of an earlier run
        now[0] = 5.0
        progress(10, 150)
        assert not stream.getvalue()
        now[0] = 10.0
        progress(10, 150)
        progress(10, 150)
        now[0] = 12.0
    first, last = map(json.loads, stream.getvalue().splitlines())
    assert first == {
        "task": "encoding",
        "documents": 40,
        "documents_per_second": 2.0,
        "terms_per_document": 12.5,
        "seconds_left": 30,
    }
    assert last["documents"] == 50


def test_the_command_tells_json_lines(
    many: Path, tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    flags = ("--corpus", many, "--model", tiny_model_folder, "--output", tmp_path / "x")
    result = run("encode", *flags, "--progress", "json")
    told = [json.loads(line) for line in result.err.splitlines() if line.startswith("{")]
    assert told[-1]["documents"] == 95
    assert told[-1]["terms_per_document"] > 0


def interruptible(model: Path, folder: Path, processes: int) -> subprocess.Popen[str]:
    corpus = write_corpus(folder / "corpus", 3000)
    command = [sys.executable, "-m", "spade_pyserini.encode", "--corpus", str(corpus)]
    command += ["--model", str(model), "--shard-size", "10"]
    command += ["--output", str(folder / "x"), "--processes", str(processes)]
    return subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Whoever runs the tests in the background has it ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )


def ctrl_c(process: subprocess.Popen[str]) -> None:
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "run the same command again to go on" in told
    assert "Traceback" not in told


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ctrl_c_says_how_to_go_on(tiny_model_folder: Path, tmp_path: Path, processes: int) -> None:
    process = interruptible(tiny_model_folder, tmp_path, processes)
    manifest = tmp_path / "x.manifest.json"
    while not (manifest.exists() and json.loads(manifest.read_text())["shards"]):
        assert process.poll() is None
        time.sleep(0.01)
    ctrl_c(process)
    found = VectorManifest.load(tmp_path / "x")
    assert found.shards and not found.complete


def test_ctrl_c_while_workers_start(tiny_model_folder: Path, tmp_path: Path) -> None:
    process = interruptible(tiny_model_folder, tmp_path, 2)
    workers = ["pgrep", "-P", str(process.pid), "-f", "spawn_main"]
    while subprocess.run(workers, capture_output=True, check=False).returncode:
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(1)  # Python runs, and imports torch
    ctrl_c(process)


@pytest.mark.parametrize(("place", "processes"), [("cuda:1", 2), ("cuda:0", 3)])
def test_a_process_has_a_gpu_of_its_own(
    monkeypatch: pytest.MonkeyPatch, place: str, processes: int
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    model: Any = SimpleNamespace(kept=SimpleNamespace(device=torch.device("cuda:0")))
    assert devices(model, 2) == ["cuda:0", "cuda:1"]
    model.kept.device = torch.device(place)
    with pytest.raises(UsageError, match="--processes"):
        devices(model, processes)


def test_object_stores(tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path) -> None:
    """A corpus read from one, vectors written to one, in fsspec's memory."""
    from upath import UPath

    store = UPath("memory://bucket")
    (store / "corpora" / "tiny").mkdir(parents=True)
    plain = (tiny_corpus / "corpus.jsonl").read_bytes()
    (store / "corpora" / "tiny" / "corpus.jsonl").write_bytes(plain)
    corpus = open_corpus("memory://bucket/corpora/tiny")
    assert (corpus.name, corpus.count()) == ("tiny", 30)
    output = "memory://bucket/encode/tiny"
    local = encode_corpus(
        open_corpus(str(tiny_corpus)), tiny_model, tmp_path / "x", EncodeOptions(shard_size=12)
    )
    assert encode_corpus(corpus, tiny_model, output, EncodeOptions(shard_size=12)) == local
    found = {path.name: path.read_bytes() for path in (store / "encode" / "tiny").iterdir()}
    assert found == shards(tmp_path / "x")
    assert list(read_vectors(output)) == list(read_vectors(tmp_path / "x"))
    (store / "encode" / "tiny" / "docs0001.jsonl.gz").unlink()
    (store / "encode" / "tiny" / "docs0002.jsonl.gz").write_bytes(b"cut")
    assert (
        encode_corpus(corpus, tiny_model, output, EncodeOptions(shard_size=12)) == local
    )  # and mends it
    found = {path.name: path.read_bytes() for path in (store / "encode" / "tiny").iterdir()}
    assert found == shards(tmp_path / "x")
    for number in (0, 1):
        part = Part(number, 2)
        encode_corpus(
            corpus, tiny_model, f"{output}-parts", EncodeOptions(shard_size=12, part=part)
        )
    assert merge_parts(f"{output}-parts") == local
    with pytest.raises(UsageError, match="copy memory://bucket/encode/tiny to this machine"):
        build_impact_index(output, tmp_path / "index")


@pytest.mark.parametrize("place", ["s3://bucket/x", "nowhere://x"])
def test_an_object_store_without_its_library(tiny_corpus: Path, run: Commands, place: str) -> None:
    result = run("encode", "--corpus", place)
    assert result.code == 1
    assert place in result.err and "Traceback" not in result.err
