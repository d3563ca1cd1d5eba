"""The memory of a process does not grow from shard to shard."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from spade_pyserini import SpadeModel, encode_corpus, open_corpus
from spade_pyserini.encode import EncodeOptions
from spade_pyserini.sharding.memory import release_memory


def resident() -> int:
    """Return the resident memory of this process, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_free_memory_between_pieces_in_use_is_returned() -> None:
    size, count, every = 64 * 1024, 4000, 50
    pieces: list[bytes | None] = [b"x" * size for _ in range(count)]
    for index in range(count):
        if index % every:
            pieces[index] = None
    held = resident()
    release_memory()
    assert held - resident() > 0.8 * size * count
    assert all(piece == b"x" * size for piece in pieces[::every])


def test_a_worker_releases_memory_after_each_shard(
    corpus_of_95: Path, tiny_model: SpadeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is released once per shard; the test above checks the effect."""
    released: list[None] = []
    monkeypatch.setattr(
        "spade_pyserini.sharding.worker.release_memory", lambda: released.append(None)
    )
    manifest = encode_corpus(
        open_corpus(str(corpus_of_95)), tiny_model, tmp_path / "x", EncodeOptions(shard_size=10)
    )
    assert len(released) == len(manifest.shards) == 10
