"""The manifest of a running job, which is saved repeatedly while shards are finished."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Generic

from spade_pyserini.sharding.part import Part
from spade_pyserini.sharding.protocols import M, ShardRecord

SAVING_SHARE = 0.05  # at most this share of the time goes into saving the manifest


class Ledger(Generic[M]):
    """Collects the records of finished shards until it is closed.

    Records that are not saved when the process is killed are lost. The next run computes their
    shards again, with the same result.
    """

    def __init__(self, manifest: M, folder: Path, part: Part) -> None:
        self.shards = {shard.number: shard for shard in manifest.shards}
        self._manifest, self._folder, self._part = manifest, folder, part
        self._saved, self._next_save = True, 0.0

    @property
    def manifest(self) -> M:
        """An incomplete manifest with all shards so far, in order."""
        shards: list[ShardRecord] = [self.shards[number] for number in sorted(self.shards)]
        return replace(self._manifest, shards=shards, complete=False)

    def add(self, shard: ShardRecord) -> None:
        """Add a finished shard, and save the manifest if the last save is long enough ago."""
        self.shards[shard.number] = shard
        self._saved = False
        if time.monotonic() >= self._next_save:
            self.close()

    def close(self) -> None:
        """Save the records that are not saved yet."""
        if self._saved:
            return
        start = time.monotonic()
        self.manifest.save(self._folder, self._part.manifest)
        end = time.monotonic()
        self._saved, self._next_save = True, end + (end - start) / SAVING_SHARE
