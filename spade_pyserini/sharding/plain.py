"""Files and manifest of a sharded job without parts: ``docs0000``, ``docs0001``, ... in a folder.

Impact vectors have a manifest of their own (`spade_pyserini.formats.vectors`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from spade_pyserini.errors import ArtifactError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.digests import sha256
from spade_pyserini.formats.paths import remove, sibling
from spade_pyserini.formats.sealed_json import read_sealed, write_sealed
from spade_pyserini.sharding.part import shard_number
from spade_pyserini.sharding.protocols import Settings, ShardRecord


@dataclass(frozen=True)
class PlainShard:
    """The record of a finished shard in the manifest."""

    file: str
    documents: int
    sha256: str
    input_sha256: str

    @property
    def number(self) -> int:
        """Position of the shard in the corpus; the first is 0."""
        return shard_number(self.file)

    @property
    def terms(self) -> int:
        """Always 0: the shard holds no term vectors."""
        return 0


@dataclass(frozen=True)
class PlainManifest:
    """The settings of a job and its finished shards, in order."""

    form: str
    settings: Settings
    complete: bool = False
    shards: list[PlainShard] = field(default_factory=list)
    corpus_documents: int | None = None

    @property
    def documents(self) -> int:
        """Number of documents in all shards."""
        return sum(shard.documents for shard in self.shards)

    def save(self, folder: Path, name: str) -> None:
        """Write the manifest next to ``folder``."""
        values = {
            "format": self.form,
            "complete": self.complete,
            "documents": self.documents,
            "settings": asdict(self.settings),
            "shards": [asdict(shard) for shard in self.shards],
        }
        write_sealed(sibling(folder, name), values)


@dataclass(frozen=True)
class PlainFiles:
    """Shards named ``docs0000`` plus ``suffix``, in a folder.

    form: the format name in the manifest. settings: the class of the settings in the manifest.
    """

    form: str
    suffix: str
    settings: type[Any]

    def shard_name(self, number: int) -> str:
        """File name of a shard."""
        return f"docs{number:04d}{self.suffix}"

    def is_shard_name(self, name: str) -> bool:
        """Whether ``name`` is a file name that `shard_name` returns."""
        return re.fullmatch(rf"docs\d{{4,}}{re.escape(self.suffix)}", name) is not None

    def load(self, folder: Path, name: str) -> PlainManifest:
        """Read the manifest next to ``folder``."""
        path = sibling(folder, name)
        values = read_sealed(path, self.form)
        shards = [PlainShard(**shard) for shard in values["shards"]]
        for shard in shards:
            if not self.is_shard_name(shard.file):  # for example ../name, outside the folder
                message = f"{path}: {shard.file!r} is not the name of a shard"
                raise ArtifactError(f"{message}; create the output again with overwrite=True")
        settings = self.settings(**values["settings"])
        return PlainManifest(self.form, settings, values["complete"], shards)

    def new_manifest(self, settings: Settings) -> PlainManifest:
        """Return an incomplete manifest without shards."""
        return PlainManifest(self.form, settings)

    def write_common(self, folder: Path) -> None:
        """Do nothing: there are no common files besides the manifest."""

    def is_intact(self, folder: Path, shard: ShardRecord) -> bool:
        """Whether the file of a shard is unchanged since it was written."""
        path = folder / shard.file
        return path.is_file() and sha256(path) == shard.sha256

    def record_companion(self, folder: Path, shard: ShardRecord, sha256: str) -> None:
        """Do nothing: these shards have no companion with a separate digest."""

    def remove(self, folder: Path, names: Iterable[str] | None) -> None:
        """Remove shards; all of them if ``names`` is None."""
        if names is None:
            names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
        for name in filter(self.is_shard_name, names):
            remove(folder / name)

    @contextmanager
    def write(self, folder: Path, number: int) -> Iterator[IO[bytes]]:
        """Write a shard to a temporary file next to the folder, then move it into the folder."""
        name = self.shard_name(number)
        with atomic_write(folder / name, near=sibling(folder, name)) as stream:
            yield stream

    def record(self, folder: Path, number: int, documents: int, input_sha256: str) -> PlainShard:
        """Return the record of a shard that was just written."""
        name = self.shard_name(number)
        return PlainShard(name, documents, sha256(folder / name), input_sha256)
