"""The two encoders' vectors kept apart, in a folder beside the vectors that they were mixed to.

::

    encode/pydoc.spade.components/docs0000.jsonl.gz    {"id", "weighting": {...}, "expansion": ...}
    encode/pydoc.spade.components.manifest.json        a checksum for each, and of which vectors

A file stands for the shard of the same name. The weights of query terms are multiplied in, alpha
is not applied, and every weight comes back as the 32-bit float that it was.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.errors import ArtifactError, SpadeError
from spade_pyserini.formats.files import (
    atomic_write,
    read_json_object,
    read_lines,
    read_sealed,
    remove,
    sha256,
    sibling,
    write_sealed,
)
from spade_pyserini.formats.vectors import Shard, VectorManifest, is_shard_name, shard_name

FORMAT = "spade_pyserini.components/1"


class ComponentVector(NamedTuple):
    """A document's weights by WordPiece, of each encoder."""

    docid: str
    weighting: dict[str, float]
    expansion: dict[str, float]


def components_path(folder: Path) -> Path:
    """``encode/X`` gives ``encode/X.components``."""
    return sibling(folder, "components")


def manifest_path(folder: Path) -> Path:
    return sibling(folder, "components.manifest.json")


def write_components(folder: Path, number: int, vectors: Iterable[ComponentVector]) -> str:
    """Write the components of one shard of the vectors in ``folder``; returns their checksum."""
    path = components_path(folder) / shard_name(number)
    with (
        atomic_write(path) as stream,
        gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0, compresslevel=6) as packed,
    ):
        for docid, weighting, expansion in vectors:
            values = {"weighting": _nine_digits(weighting), "expansion": _nine_digits(expansion)}
            line = json.dumps({"id": docid, **values}, ensure_ascii=False)
            packed.write(line.encode() + b"\n")
    return sha256(path)


def _nine_digits(weights: dict[str, float]) -> dict[str, float]:
    """As many as tell all 32-bit floats apart."""
    return {term: float(f"{weight:.9g}") for term, weight in weights.items()}


def record(folder: Path, shard: Shard, checksum: str) -> None:
    """Let the manifest know the components of a shard."""
    entry = {"sha256": checksum, "vectors_sha256": shard.sha256}
    _save(folder, {**_known(folder), shard.file: entry})


def components_intact(folder: Path, shard: Shard) -> bool:
    """Whether the components of just these vectors are there, as they were written."""
    path = components_path(folder) / shard.file
    found = _known(folder).get(shard.file)
    if not found or found["vectors_sha256"] != shard.sha256 or not path.is_file():
        return False
    return sha256(path) == found["sha256"]


def read_components(folder: str | Path) -> Iterator[ComponentVector]:
    """The components beside the vectors in ``folder``, in the order of their manifest."""
    folder = Path(folder)
    for shard in VectorManifest.load(folder).shards:
        if not components_intact(folder, shard):
            message = f"{folder}: the components of {shard.file} are missing, changed, or of other"
            raise ArtifactError(f"{message} vectors; run its encode command with --components")
        path = components_path(folder) / shard.file
        for number, line in read_lines(path):
            values = read_json_object(line, path, number)
            yield ComponentVector(values["id"], values["weighting"], values["expansion"])


def remove_components(folder: Path, files: Iterable[str] | None = None) -> None:
    """Forget components, all of them or those of some shards; nothing else is touched."""
    place = components_path(folder)
    present = [path.name for path in place.iterdir()] if place.is_dir() else []
    gone = {name for name in (present if files is None else files) if is_shard_name(name)}
    known = {} if files is None else _known(folder)
    if left := {file: entry for file, entry in known.items() if file not in gone}:
        _save(folder, left)
    else:
        remove(manifest_path(folder))
    for name in gone:
        remove(place / name)
    with suppress(OSError):  # it is not there, or holds something that is not ours
        place.rmdir()


def _known(folder: Path) -> dict[str, dict[str, str]]:
    """What the manifest says; nothing where it is missing or damaged."""
    try:
        shards: dict[str, dict[str, str]] = read_sealed(manifest_path(folder), FORMAT)["shards"]
    except SpadeError:
        return {}
    return shards


def _save(folder: Path, shards: dict[str, dict[str, str]]) -> None:
    write_sealed(manifest_path(folder), {"format": FORMAT, "shards": shards})
