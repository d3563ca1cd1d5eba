"""Component vectors: the outputs of the two encoders before they are combined into impacts.

::

    encode/pydoc.spade.components/docs0000.jsonl.gz    {"id", "weighting": {...}, "expansion": ...}
    encode/pydoc.spade.components.manifest.json        checksums, see below

Component vectors are in a folder next to the impact vectors. For each shard of impact vectors, this
folder has a file of the same name; the manifest has the checksums of both files. The stored weight
of a term is already multiplied by the term's query weight (a parameter of the model) and, if the
model uses it, by the term's idf in the corpus, but not by alpha. Weights are written with nine
significant digits, which are enough to restore the same 32-bit floats.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.errors import ArtifactError, SpadeError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.digests import sha256
from spade_pyserini.formats.json_files import read_json_object
from spade_pyserini.formats.lines import read_lines
from spade_pyserini.formats.paths import remove, sibling
from spade_pyserini.formats.private_names import temporary_of
from spade_pyserini.formats.sealed_json import read_sealed, write_sealed
from spade_pyserini.formats.vector_manifest import Shard, VectorManifest, is_shard_name, shard_name

FORMAT = "spade_pyserini.components/1"


class ComponentVector(NamedTuple):
    """The weights of a document's WordPieces, from the weighting and the expansion encoder."""

    docid: str
    weighting: dict[str, float]
    expansion: dict[str, float]


def components_path(folder: Path) -> Path:
    """Return the folder of components: ``encode/X`` gives ``encode/X.components``."""
    return sibling(folder, "components")


def manifest_path(folder: Path) -> Path:
    """Return the manifest's path: ``encode/X`` gives ``encode/X.components.manifest.json``."""
    return sibling(folder, "components.manifest.json")


def write_components(folder: Path, number: int, vectors: Iterable[ComponentVector]) -> str:
    """Write the components of one shard of ``folder``; return the checksum of the file."""
    path = components_path(folder) / shard_name(number)
    with (
        atomic_write(path) as stream,
        gzip.GzipFile("", "wb", fileobj=stream, mtime=0, compresslevel=6) as compressed,
    ):
        for docid, weighting, expansion in vectors:
            values = {"weighting": _nine_digits(weighting), "expansion": _nine_digits(expansion)}
            line = json.dumps({"id": docid, **values}, ensure_ascii=False)
            compressed.write(line.encode() + b"\n")
    return sha256(path)


def _nine_digits(weights: dict[str, float]) -> dict[str, float]:
    """Round to nine significant digits, which identify every 32-bit float."""
    return {term: float(f"{weight:.9g}") for term, weight in weights.items()}


def record(folder: Path, shard: Shard, checksum: str) -> None:
    """Record the checksums of a shard's components and impact vectors in the manifest."""
    entry = {"sha256": checksum, "vectors_sha256": shard.sha256}
    _save(folder, {**_entries(folder), shard.file: entry})


def components_intact(folder: Path, shard: Shard) -> bool:
    """Whether the components of ``shard`` exist, are unchanged, and belong to its vectors."""
    path = components_path(folder) / shard.file
    entry = _entries(folder).get(shard.file)
    if not entry or entry["vectors_sha256"] != shard.sha256 or not path.is_file():
        return False
    return sha256(path) == entry["sha256"]


def read_components(folder: str | Path) -> Iterator[ComponentVector]:
    """Yield the components of the vectors in ``folder``, in the order of their manifest."""
    folder = Path(folder)
    for shard in VectorManifest.load(folder).shards:
        if not components_intact(folder, shard):
            message = f"{folder}: the components of {shard.file} are missing, changed, or belong to"
            cure = "run the same encode command with components=True"
            raise ArtifactError(f"{message} other vectors; {cure}")
        path = components_path(folder) / shard.file
        for number, line in read_lines(path):
            values = read_json_object(line, path, number)
            yield ComponentVector(values["id"], values["weighting"], values["expansion"])


def remove_components(folder: Path, files: Iterable[str] | None = None) -> None:
    """Remove the components of the shards in ``files``, or of all shards if ``files`` is None.

    Other files in the folder are not removed.
    """
    path = components_path(folder)
    present = [file.name for file in path.iterdir()] if path.is_dir() else []
    removed = {
        name
        for name in (present if files is None else files)
        if is_shard_name(temporary_of(name) or name)
    }
    entries = {} if files is None else _entries(folder)
    if remaining := {file: entry for file, entry in entries.items() if file not in removed}:
        _save(folder, remaining)
    else:
        remove(manifest_path(folder))
    for name in removed:
        remove(path / name)
    with suppress(OSError):  # the folder does not exist, or has other files
        path.rmdir()


def _entries(folder: Path) -> dict[str, dict[str, str]]:
    """The manifest's entries by file name; empty if the manifest is missing or damaged."""
    try:
        shards: dict[str, dict[str, str]] = read_sealed(manifest_path(folder), FORMAT)["shards"]
    except SpadeError:
        return {}
    return shards


def _save(folder: Path, shards: dict[str, dict[str, str]]) -> None:
    write_sealed(manifest_path(folder), {"format": FORMAT, "shards": shards})
