"""A process does not grow from shard to shard."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from spade_pyserini import SpadeModel, encode_corpus, open_corpus
from spade_pyserini.encode import EncodeOptions
from spade_pyserini.sharding.memory import release_memory


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be asked")
def test_what_is_free_between_pieces_in_use_goes_back() -> None:
    size, count, every = 64 * 1024, 4000, 50
    pieces: list[bytes | None] = [b"x" * size for _ in range(count)]
    for place in range(count):
        if place % every:
            pieces[place] = None
    held = resident()
    release_memory()
    assert held - resident() > 0.8 * size * count
    assert all(piece == b"x" * size for piece in pieces[::every])


def test_a_worker_gives_back_what_a_shard_has_left(
    many: Path, tiny_model: SpadeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside each shard that is encoded; what it is worth is above."""
    given: list[None] = []
    monkeypatch.setattr("spade_pyserini.sharding.worker.give_back", lambda: given.append(None))
    manifest = encode_corpus(
        open_corpus(str(many)), tiny_model, tmp_path / "x", EncodeOptions(shard_size=10)
    )
    assert len(given) == len(manifest.shards) == 10
