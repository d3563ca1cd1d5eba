"""The interfaces that a command implements to process a corpus as a sharded job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeVar

from spade_pyserini.records import Document

if TYPE_CHECKING:
    from dataclasses import Field

Advance = Callable[[int, int], None]
"""A function that is called with a number of processed documents and the number of their terms."""


class ShardRecord(Protocol):
    """The record of a finished shard in the manifest."""

    @property
    def file(self) -> str:
        """Name of the file in the output folder."""

    @property
    def number(self) -> int:
        """Position of the shard in the corpus; the first is 0."""

    @property
    def documents(self) -> int:
        """Number of documents in the shard."""

    @property
    def terms(self) -> int:
        """Number of terms in all vectors of the shard; 0 if it has no term vectors."""

    @property
    def sha256(self) -> str:
        """Digest of the file."""

    @property
    def input_sha256(self) -> str:
        """Digest of the documents that the shard was computed from."""


class Settings(Protocol):
    """A dataclass of the settings that, together with the documents, determine the shards."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def shard_size(self) -> int:
        """Number of documents in a shard."""


class Manifest(Protocol):
    """A dataclass with the settings of a job and the record of each finished shard."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def settings(self) -> Settings: ...

    @property
    def complete(self) -> bool: ...

    @property
    def shards(self) -> Sequence[ShardRecord]: ...

    def save(self, folder: Path, name: str) -> None:
        """Write the manifest, atomically, to the file ``FOLDER.NAME`` next to ``folder``."""


M = TypeVar("M", bound=Manifest)
ManifestT_co = TypeVar("ManifestT_co", bound=Manifest, covariant=True)


class ShardFiles(Protocol[ManifestT_co]):
    """The files of one kind of output: a folder of shards, a manifest, and companion files.

    A companion file, such as the components of the vectors, belongs to one shard. Arguments called
    ``shard`` are records of the manifest that `load` returns.
    """

    def is_shard_name(self, name: str) -> bool:
        """Whether ``name`` is the file name of a shard."""

    def load(self, folder: Path, name: str) -> ManifestT_co:
        """Read the manifest ``FOLDER.NAME`` next to ``folder``."""

    def new_manifest(self, settings: Any) -> ManifestT_co:
        """Return an incomplete manifest without shards."""

    def write_common(self, folder: Path) -> None:
        """Write the files that all shards share. Called before the manifest is saved."""

    def is_intact(self, folder: Path, shard: Any) -> bool:
        """Whether the file of a shard and its companions are unchanged since they were written."""

    def record_companion(self, folder: Path, shard: Any, sha256: str) -> None:
        """Store the digest of a companion file. Only the main process calls this."""

    def remove(self, folder: Path, names: Iterable[str] | None) -> None:
        """Remove shards and their companions; all of them if ``names`` is None."""


class Written(NamedTuple):
    """What `ShardTask.write` returns.

    shard: the record of the finished shard.
    companion_sha256: the digest of its companion file; None if there is no digest to record.
    """

    shard: ShardRecord
    companion_sha256: str | None = None


P = TypeVar("P")
C = TypeVar("C")


class ShardTask(Protocol[P, C]):
    """Turns documents into a finished shard. Its three steps overlap with those of other shards.

    `prepare` runs in a reading thread, `compute` runs in the worker's own thread, and `write` runs
    in a writing thread.
    """

    def prepare(self, number: int, documents: list[Document], input_sha256: str) -> P:
        """Convert the documents of shard ``number`` to the input of the model."""

    def compute(self, prepared: P, advance: Advance) -> C:
        """Run the model. Calls ``advance`` after each batch."""

    def write(self, folder: Path, computed: C) -> Written:
        """Write the shard, atomically."""


class MovableTask(ShardTask[P, C], Protocol[P, C]):
    """A task that can be pickled and run in other processes and on other devices."""

    @property
    def device(self) -> str:
        """The torch device of the task's model."""

    def on_device(self, device: str) -> MovableTask[P, C]:
        """Return a copy of this task with its model on ``device``."""

    def check_device(self) -> None:
        """Raise `UsageError` if the task's settings do not work on its device."""
