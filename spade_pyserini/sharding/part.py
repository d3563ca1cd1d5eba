"""A part of a job: several runs, often on different machines, process a corpus together.

    spade encode --corpus msmarco --shard-id 0 --shard-num 2     # on one machine
    spade encode --corpus msmarco --shard-id 1 --shard-num 2     # on another
    spade encode --corpus msmarco --merge                        # when both have finished

All parts write into one folder on shared storage. Each part has a manifest of its own next to the
folder until the parts are merged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.errors import ArtifactError, UsageError
from spade_pyserini.formats.paths import sibling
from spade_pyserini.sharding.protocols import Manifest

MANIFEST = "manifest.json"


class Part(NamedTuple):
    """The shards ``shard_id``, ``shard_id + shard_num``, ``shard_id + 2 * shard_num``, ..."""

    shard_id: int = 0
    shard_num: int = 1

    @classmethod
    def of(cls, shard_id: int | None, shard_num: int | None) -> Part:
        """Check the numbers and return their part; return `ALL_SHARDS` if both are None."""
        if (shard_id is None) != (shard_num is None):
            raise UsageError("give shard_id=I and shard_num=N together")
        if shard_id is None or shard_num is None:
            return ALL_SHARDS
        if not 0 <= shard_id < shard_num:
            raise UsageError(f"shard_id={shard_id} is not between 0 and {shard_num - 1}")
        return cls(shard_id, shard_num)

    @property
    def prefix(self) -> str:
        """The text that the part's file names have before the usual suffix: ``part-0-of-2.``.

        It is empty for `ALL_SHARDS`.
        """
        return "" if self == ALL_SHARDS else f"part-{self.shard_id}-of-{self.shard_num}."

    @property
    def manifest(self) -> str:
        """Suffix of the part's manifest, as in ``encode/X.part-0-of-2.manifest.json``."""
        return self.prefix + MANIFEST

    def shard(self, index: int) -> int:
        """Return a shard's number: for ``Part(1, 2)``, the indexes 0, 1, 2 give 1, 3, 5."""
        return self.shard_id + index * self.shard_num

    def has(self, number: int) -> bool:
        """Whether the shard with this number belongs to the part."""
        return number % self.shard_num == self.shard_id

    def errors_path(self, folder: Path) -> Path:
        """The file that lists the bad documents which the part left out."""
        return sibling(folder, f"{self.prefix}errors.txt")

    def lock_path(self, folder: Path) -> Path:
        """The path to lock while the part is written."""
        return folder if self == ALL_SHARDS else sibling(folder, f"part-{self.shard_id}")

    def documents(self, total: int | None) -> int | None:
        """Approximate number of the part's documents if the corpus has ``total`` documents.

        None if ``total`` is None.
        """
        return None if total is None else -(-total // self.shard_num)


ALL_SHARDS = Part()


def shard_number(name: str) -> int:
    """The number in the file name of a shard: 12 for ``docs0012.jsonl.gz``."""
    match = re.search(r"docs(\d+)", name)
    if match is None:
        raise ValueError(f"{name!r} is not the name of a shard")
    return int(match[1])


def parts_of(folder: Path) -> list[Part]:
    """The parts that have a manifest next to ``folder``."""
    path = sibling(folder, MANIFEST)
    start = path.name.removesuffix(MANIFEST)
    pattern = re.compile(rf"{re.escape(start)}part-(\d+)-of-(\d+)\.{re.escape(MANIFEST)}")
    if not path.parent.is_dir():
        return []
    matches = (pattern.fullmatch(entry.name) for entry in path.parent.iterdir())
    return sorted(Part(int(match[1]), int(match[2])) for match in matches if match)


def agreed_size(folder: Path, sizes: Iterable[int | None]) -> int | None:
    """Return the corpus size that all workers report; None if no worker knows it.

    Raises `ArtifactError` if workers report different sizes.
    """
    known = sorted({size for size in sizes if size is not None})
    if len(known) > 1:
        shown = " and ".join(map(str, known))
        raise ArtifactError(
            f"{folder}: the workers read different corpora, of {shown} documents; give all of them "
            "the complete corpus and run the same commands again"
        )
    return known[0] if known else None


def check_shards(folder: Path, part: Part, manifest: Manifest, documents: int) -> None:
    """Raise `ArtifactError` if a shard of ``part`` is missing or has a wrong number of documents.

    ``documents`` is the size of the corpus.
    """
    size = manifest.settings.shard_size
    numbers = range(part.shard_id, -(-documents // size), part.shard_num)
    expected = {number: min(size, documents - number * size) for number in numbers}
    actual = {shard.number: shard.documents for shard in manifest.shards}
    for number in sorted(expected.keys() | actual.keys()):
        if expected.get(number) != actual.get(number):
            raise ArtifactError(
                f"{folder}: shard {number} has {actual.get(number, 0)} documents, expected "
                f"{expected.get(number, 0)}; check that the corpus is the same on all machines, "
                "and encode again"
            )
