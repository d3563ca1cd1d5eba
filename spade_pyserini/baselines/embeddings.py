"""The files of embeddings that `spade_pyserini.baselines.dense` writes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spade_pyserini.errors import ArtifactError, SpadeError
from spade_pyserini.formats.digests import sha256
from spade_pyserini.formats.json_files import read_json_file
from spade_pyserini.formats.paths import sibling
from spade_pyserini.formats.private_names import temporary_of
from spade_pyserini.formats.sealed_json import read_sealed, write_sealed
from spade_pyserini.sharding.part import MANIFEST
from spade_pyserini.sharding.plain import PlainFiles, PlainManifest, PlainShard
from spade_pyserini.sharding.protocols import ShardRecord

FORMAT = "spade_pyserini.dense/2"
# Files of docids have this format. Manifests of version 1 have it, too.
DOCIDS_FORMAT = "spade_pyserini.dense/1"


@dataclass(frozen=True)
class DenseSettings:
    """All settings that, together with the documents, determine the embeddings."""

    corpus: str
    model: str
    model_fingerprint: str
    max_length: int | None
    dimension: int | None
    shard_size: int


class DenseFiles(PlainFiles):
    """Shards ``docs0000.npy``, each with the docids of its rows in ``docs0000.json``."""

    def __init__(self) -> None:
        super().__init__(FORMAT, ".npy", DenseSettings)

    def is_shard_name(self, name: str) -> bool:
        """Whether ``name`` is a file of embeddings or docids, or its temporary file."""
        return re.fullmatch(r"docs\d{4,}\.(npy|json)", temporary_of(name) or name) is not None

    def load(self, folder: Path, name: str = MANIFEST) -> PlainManifest:
        """Read the manifest next to ``folder``; its format may be version 1 or 2."""
        path = sibling(folder, name)
        if not path.is_file():
            message = f"{folder} has no manifest ({path.name}): it was not written by spade dense"
            raise ArtifactError(f"{message}; give a folder that spade dense wrote")
        if read_json_file(path).get("format") == DOCIDS_FORMAT:
            return self._load_version_1(folder, path)
        return super().load(folder, name)

    def _load_version_1(self, folder: Path, path: Path) -> PlainManifest:
        """Read a manifest of version 1: it has no records of shards, only their number.

        The number is 0 while the embeddings are unfinished.
        """
        values = read_sealed(path, DOCIDS_FORMAT)
        number, shards = values["shards"], []
        for rows in sorted(folder.glob("docs*.npy")):
            if record := read_docids(rows):
                digests = record["sha256"], record["input_sha256"]
                shards.append(PlainShard(rows.name, len(record["docids"]), *digests))
        complete = 0 < number == len(shards)
        return PlainManifest(FORMAT, DenseSettings(**values["settings"]), complete, shards)

    def is_intact(self, folder: Path, shard: ShardRecord) -> bool:
        """Whether the embeddings are unchanged, and the docids belong to them."""
        record = read_docids(folder / shard.file)
        return bool(record and record["sha256"] == shard.sha256) and super().is_intact(
            folder, shard
        )

    def remove(self, folder: Path, names: Iterable[str] | None) -> None:
        """Remove the shards ``names`` with their docids, or all shards if ``names`` is None."""
        if names is not None:
            names = [file for name in names for file in (name, f"{Path(name).stem}.json")]
        super().remove(folder, names)


def write_docids(rows: Path, docids: list[str], input_sha256: str) -> None:
    """Write the docids of a shard, with the digest of its rows."""
    values = {"docids": docids, "input_sha256": input_sha256, "sha256": sha256(rows)}
    write_sealed(rows.with_suffix(".json"), {"format": DOCIDS_FORMAT, **values})


def read_docids(rows: Path) -> dict[str, Any] | None:
    """Read what `write_docids` wrote; None if the file is missing or damaged."""
    try:
        return read_sealed(rows.with_suffix(".json"), DOCIDS_FORMAT)
    except (SpadeError, OSError):
        return None
