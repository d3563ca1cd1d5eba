"""The manifest of a running job is saved again and again; saving takes at most 5 % of the time."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from spade_pyserini.formats.vector_manifest import VectorManifest, shard_name
from spade_pyserini.formats.vectors import verify
from spade_pyserini.sharding.ledger import Ledger
from spade_pyserini.sharding.part import ALL_SHARDS


def test_saving_takes_a_twentieth_of_the_time_at_most(
    tiny_vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest, now, saved = verify(tiny_vectors), 0.0, []

    def save(self: VectorManifest, *_: object) -> None:
        nonlocal now
        now += 1.0
        saved.append(len(self.shards))

    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(VectorManifest, "save", save)
    with closing(Ledger(replace(manifest, shards=[]), tmp_path / "x", ALL_SHARDS)) as ledger:
        for number in range(100):
            ledger.add(replace(manifest.shards[0], file=shard_name(number)))
            now += 1.0
    assert saved == [1, 21, 41, 61, 81, 100]
