"""The manifest of a run, saved while the shards come in."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from spade_pyserini.sharding.part import Part
from spade_pyserini.formats.vectors import Shard, VectorManifest

SHARE = 0.05  # of the time, at most, goes into saving: a manifest of many shards takes seconds


class Ledger:
    """The finished shards of a run by their numbers, until it is closed.

    A kill may find one that is not saved yet: it is encoded again, to the same bytes.
    """

    def __init__(self, manifest: VectorManifest, folder: Path, part: Part) -> None:
        self.shards = {shard.number: shard for shard in manifest.shards}
        self._manifest, self._folder, self._part = manifest, folder, part
        self._saved, self._next = True, 0.0

    @property
    def manifest(self) -> VectorManifest:
        shards = [self.shards[number] for number in sorted(self.shards)]
        return replace(self._manifest, shards=shards, complete=False)

    def add(self, shard: Shard) -> None:
        self.shards[shard.number] = shard
        self._saved = False
        if time.monotonic() >= self._next:
            self.close()

    def close(self) -> None:
        """Save what is not saved yet."""
        if self._saved:
            return
        began = time.monotonic()
        self.manifest.save(self._folder, self._part.manifest)
        ended = time.monotonic()
        self._saved, self._next = True, ended + (ended - began) / SHARE
