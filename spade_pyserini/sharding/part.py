"""One of several runs, on as many machines, that encode a corpus together: every n-th shard.

    python -m spade_pyserini.encode --corpus msmarco --shard-id 0 --shard-num 2     # one machine
    python -m spade_pyserini.encode --corpus msmarco --shard-id 1 --shard-num 2     # another one
    python -m spade_pyserini.encode --corpus msmarco --merge                        # then

All write into one folder on shared storage. Each has a manifest of its own beside it, until they
are joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.errors import ArtifactError, OutputExistsError, UsageError
from spade_pyserini.formats.files import location, lock, read_lines, remove, sibling, write_lines
from spade_pyserini.formats.vectors import (
    MANIFEST,
    VectorManifest,
    manifest_path,
    shard_name,
    verify,
)


class Part(NamedTuple):
    """The shards ``number``, ``number + of``, ``number + 2 * of``, ..."""

    number: int = 0
    of: int = 1

    @classmethod
    def of_flags(cls, shard_id: int | None, shard_num: int | None) -> Part:
        """``--shard-id`` and ``--shard-num``; the whole without them."""
        if (shard_id is None) != (shard_num is None):
            raise UsageError("--shard-id I goes with --shard-num N")
        if shard_id is None or shard_num is None:
            return WHOLE
        if not 0 <= shard_id < shard_num:
            raise UsageError(f"--shard-id is from 0 to {shard_num - 1}, not {shard_id}")
        return cls(shard_id, shard_num)

    @property
    def manifest(self) -> str:
        """The end of the name of its manifest."""
        return MANIFEST if self == WHOLE else f"part-{self.number}-of-{self.of}.{MANIFEST}"

    def shard(self, place: int) -> int:
        """The number of its shard at ``place``."""
        return self.number + place * self.of

    def has(self, shard: int) -> bool:
        return shard % self.of == self.number

    def errors_path(self, folder: Path) -> Path:
        """Where bad documents are listed."""
        name = "errors.txt"
        return sibling(folder, name if self == WHOLE else f"part-{self.number}-of-{self.of}.{name}")

    def locked(self, folder: Path) -> Path:
        """What is locked while it is written."""
        return folder if self == WHOLE else sibling(folder, f"part-{self.number}")

    def documents(self, total: int | None) -> int | None:
        """How many of a corpus's documents are its own, about."""
        return None if total is None else -(-total // self.of)


WHOLE = Part()


def merge_parts(output: str | Path) -> VectorManifest:
    """Join the manifests of all parts of a folder into one, after checking every file."""
    folder = location(output)
    with lock(folder):
        manifests = {part: VectorManifest.load(folder, part.manifest) for part in parts_of(folder)}
        if manifest_path(folder).exists():
            whole = VectorManifest.load(folder)
            _refuse_others(folder, manifests, whole)
            verify(folder, whole)
        elif manifests:
            whole = _joined(folder, manifests)
            _merge_errors(folder, list(manifests))
            whole.save(folder)
        else:
            raise ArtifactError(f"{folder} has no parts to merge; encode with --shard-id first")
        for part in manifests:
            remove(part.errors_path(folder))
            remove(sibling(folder, part.manifest))
    return whole


def _refuse_others(
    folder: Path, manifests: dict[Part, VectorManifest], whole: VectorManifest
) -> None:
    """Beside a whole, a merge that was killed may have left parts of it, and nothing else."""
    known = {shard.file: shard for shard in whole.shards}
    for manifest in manifests.values():
        same = all(known.get(shard.file) == shard for shard in manifest.shards)
        if manifest.settings != whole.settings or not same:
            message = f"{folder} is the whole of another encoding already; remove the files"
            raise OutputExistsError(f"{message} {folder.name}.part-* beside it, if it is to stay")


def _joined(folder: Path, manifests: dict[Part, VectorManifest]) -> VectorManifest:
    """The whole that the parts make, checked."""
    first = next(iter(manifests.values()))
    _check(folder, manifests, first)
    shards = [shard for manifest in manifests.values() for shard in manifest.shards]
    shards.sort(key=lambda shard: shard.number)
    whole = replace(first, shards=shards, complete=True, corpus_documents=None)
    seen = agreed(folder, (manifest.corpus_documents for manifest in manifests.values()))
    check_numbers(folder, WHOLE, whole, whole.documents if seen is None else seen)
    return verify(folder, whole)


def _merge_errors(folder: Path, parts: list[Part]) -> None:
    """All parts read the corpus from its start: many have met the same bad documents."""
    paths = [path for part in parts if (path := part.errors_path(folder)).exists()]
    errors = sorted({line for path in paths for _, line in read_lines(path)})
    if errors:
        write_lines(WHOLE.errors_path(folder), errors)


def parts_of(folder: Path) -> list[Part]:
    """The parts that were begun, by their manifests."""
    near = manifest_path(folder)
    whole = near.name.removesuffix(MANIFEST)
    pattern = re.compile(rf"{re.escape(whole)}part-(\d+)-of-(\d+)\.{re.escape(MANIFEST)}")
    if not near.parent.is_dir():
        return []
    names = sorted(path.name for path in near.parent.iterdir())
    found = (pattern.fullmatch(name) for name in names)
    return sorted(Part(int(match[1]), int(match[2])) for match in found if match)


def _check(folder: Path, manifests: dict[Part, VectorManifest], first: VectorManifest) -> None:
    numbers = {part.of for part in manifests}
    if len(numbers) > 1:
        shown = " and ".join(map(str, sorted(numbers)))
        message = f"{folder}: its parts are of {shown}; remove the manifests of one kind"
        raise ArtifactError(f"{message}, {folder.name}.part-*-of-{max(numbers)}.{MANIFEST} say")
    (number,) = numbers
    if missing := sorted(set(range(number)) - {part.number for part in manifests}):
        raise ArtifactError(f"{folder}: --shard-id {missing[0]} of {number} is missing; encode it")
    for part, manifest in manifests.items():
        if not manifest.complete:
            message = f"{folder}: --shard-id {part.number} of {number} is not finished"
            raise ArtifactError(f"{message}; run its encode command again")
        if manifest.settings != first.settings:
            message = f"{folder}: --shard-id {part.number} was encoded with other settings"
            raise ArtifactError(f"{message} than the others; encode it again with --overwrite")


def agreed(folder: Path, seen: Iterable[int | None]) -> int | None:
    """How many documents the corpus has, if all who know have read as many; None if nobody does."""
    found = sorted({one for one in seen if one is not None})
    if len(found) > 1:
        shown = " and ".join(map(str, found))
        message = f"{folder}: not all have read the same corpus, it had {shown} documents"
        raise ArtifactError(f"{message}; let all have all of it and run the encode commands again")
    return found[0] if found else None


def check_numbers(folder: Path, part: Part, manifest: VectorManifest, documents: int) -> None:
    """Of a corpus of so many documents no shard may be missing, and only the last one short."""
    size = manifest.settings.shard_size
    numbers = range(part.number, -(-documents // size), part.of)
    wanted = {number: min(size, documents - number * size) for number in numbers}
    found = {shard.number: shard.documents for shard in manifest.shards}
    for number in sorted(wanted.keys() | found.keys()):
        if wanted.get(number) != found.get(number):
            message = f"{folder}: the shards do not fit together at {shard_name(number)}"
            raise ArtifactError(f"{message}; was the corpus the same on all machines?")
