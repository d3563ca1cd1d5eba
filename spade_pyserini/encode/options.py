"""The options of an encoding."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from spade_pyserini.sharding.part import ALL_SHARDS, Part

SHARD_SIZE = 2000
BATCH_TOKENS = 2048


@dataclass(frozen=True)
class EncodeOptions:
    """How `encode_corpus` works, apart from the model's own settings.

    model_name: the name of the model in the manifest.
    shard_size: documents per file.
    batch_tokens: largest number of WordPieces in a batch, padding included.
    overwrite: replace an output that exists.
    components: also write the vectors of both encoders, see `spade_pyserini.formats.components`.
        Shards without them are encoded again.
    processes: number of worker processes on this machine.
    ray: the address of a Ray cluster, ``auto`` for the one that is running, or ``local`` to start
        Ray on this machine; ``processes`` is not used then.
    part: encode only every n-th shard, see `spade_pyserini.sharding.part`.
    max_errors: leave out up to this number of bad documents, and list them in
        ``OUTPUT.errors.txt``.
    progress: ``bar``, or ``json`` for JSON lines on stderr.
    counts: use the term counts of another corpus, the file ``OTHER.counts.json`` next to its
        vectors, and the expansion terms that corpus-level pruning removed there. Documents that
        are added to an index need the counts of that index.
    """

    model_name: str = "model"
    shard_size: int = SHARD_SIZE
    batch_tokens: int = BATCH_TOKENS
    overwrite: bool = False
    components: bool = False
    processes: int = 1
    ray: str | None = None
    part: Part = ALL_SHARDS
    max_errors: int = 0
    progress: str = "bar"
    counts: str | Path | None = None


DEFAULTS = EncodeOptions()
