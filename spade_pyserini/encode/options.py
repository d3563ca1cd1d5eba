"""The options of an encoding."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from spade_pyserini.sharding.part import ALL_SHARDS, Part

SHARD_SIZE = 2000
BATCH_TOKENS = 2048


@dataclass(frozen=True)
class EncodeOptions:
    """Options of `encode_corpus`, besides the settings of the model.

    model_name: the name of the model in the manifest.
    model_folder: the absolute path of the model's folder, which the manifest records, so that
        `spade explain` finds the model again; empty if the model is not in a local folder.
    shard_size: documents per file.
    batch_tokens: largest number of WordPieces in a batch, padding included. A longer document is a
        batch of its own.
    overwrite: replace an output that exists.
    components: also write the vectors of both encoders, see `spade_pyserini.formats.components`.
        Finished shards without components are encoded again.
    processes: number of worker processes on this machine.
    ray: the address of a Ray cluster, ``auto`` for the one that is running, or ``local`` to start
        Ray on this machine. With Ray, ``processes`` is not used.
    part: encode only every n-th shard, see `spade_pyserini.sharding.part`.
    max_errors: leave out up to this number of bad documents, and list them in
        ``OUTPUT.errors.txt``.
    progress: ``bar``, or ``json`` for JSON lines on stderr.
    counts: a file ``OTHER.counts.json`` next to the vectors of another corpus. Its term counts and
        removed expansion terms are used instead of those of this corpus. Documents that are added
        to an index need the counts with which the documents of the index were encoded.
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
    model_folder: str = ""


DEFAULTS = EncodeOptions()
