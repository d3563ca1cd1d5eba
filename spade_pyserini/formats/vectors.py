"""Read, write and check a folder of impact vectors, which has a manifest next to it.

::

    encode/pydoc.spade/docs0000.jsonl.gz      {"id": "len", "vector": {"length": 91, ...}}
    encode/pydoc.spade/docs0001.jsonl.gz
    encode/pydoc.spade.manifest.json          settings, counts, a checksum of each shard
    encode/pydoc.spade.tokenizer.json         the WordPiece vocabulary of the terms
    encode/pydoc.spade.counts.json            document frequencies, for models that use them

Anserini reads every file below the folder, so all other files are outside it.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from spade_pyserini.errors import ArtifactError, InputError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.digests import sha256
from spade_pyserini.formats.json_files import read_json_object
from spade_pyserini.formats.lines import read_lines
from spade_pyserini.formats.paths import location, remove, sibling
from spade_pyserini.formats.vector_manifest import (
    VectorManifest,
    shard_name,
)
from spade_pyserini.records import ImpactVector


def write_shard(folder: Path, number: int, vectors: Iterable[ImpactVector]) -> str:
    """Write a shard to a temporary file next to the folder, then move it into the folder.

    Reads the file back to check it, and returns its checksum. The bytes depend only on the vectors:
    the gzip header has neither time nor file name.
    """
    path = folder / shard_name(number)
    with atomic_write(path, near=sibling(folder, path.name)) as stream:
        hashed = _HashingStream(stream)
        with gzip.GzipFile("", "wb", fileobj=hashed, mtime=0, compresslevel=6) as compressed:
            for docid, impacts in vectors:
                line = json.dumps({"id": docid, "vector": impacts}, ensure_ascii=False)
                compressed.write(line.encode() + b"\n")
    if sha256(path) != hashed.digest.hexdigest():
        remove(path)
        raise ArtifactError(
            f"{path}: the bytes read differ from those written; check the disk and encode again"
        )
    return hashed.digest.hexdigest()


class _HashingStream(io.RawIOBase):
    """A stream that computes the digest of the bytes written to it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.digest = stream, hashlib.sha256()

    def write(self, data: Any) -> int:
        self.digest.update(data)
        return self.stream.write(data)


def read_shard(path: Path, first: int = 1) -> Iterator[ImpactVector]:
    """Yield the vectors of a shard.

    Raises `InputError` for a term with white space, or an impact that is not an integer of 1 or
    more. This works for vectors of any tool. For vectors with a manifest, `verify` compares
    checksums. The lines before the line ``first`` are skipped.
    """
    for number, line in read_lines(path):
        if number < first:
            continue
        values = read_json_object(line, path, number)
        docid, impacts = values.get("id"), values.get("vector")
        if not isinstance(docid, str) or not docid:
            raise InputError("`id` must be the id of the document, a string", path, number)
        if not isinstance(impacts, dict):
            raise InputError("`vector` must be an object that maps terms to impacts", path, number)
        for term, impact in impacts.items():
            if not isinstance(impact, int) or isinstance(impact, bool) or impact < 1:
                message = f"the impact of {term!r} is {impact!r}; Anserini silently drops impacts"
                cure = "that are not integers of 1 or more; quantize the vectors first"
                raise InputError(f"{message} {cure}", path, number)
            if term.split() != [term]:
                message = f"Anserini would split the term {term!r} at white space; remove the space"
                raise InputError(message, path, number)
        yield ImpactVector(docid, impacts)


def read_vectors(folder: str | Path) -> Iterator[ImpactVector]:
    """Yield all vectors of a folder in the order of its manifest."""
    path = location(folder)
    for shard in VectorManifest.load(path).shards:
        yield from read_shard(path / shard.file)


def verify(folder: Path, manifest: VectorManifest | None = None) -> VectorManifest:
    """Check a folder of vectors against its manifest, and return the manifest.

    The folder must be complete and have exactly the files of the manifest, with the same checksums.
    """
    manifest = manifest or VectorManifest.load(folder)
    if not manifest.complete:
        message = f"{folder}: encoding is incomplete ({manifest.documents} documents so far)"
        raise ArtifactError(f"{message}; run the same encode command again to continue")
    shards = {shard.file: shard for shard in manifest.shards}
    present = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if stray := sorted(present - set(shards)):
        message = f"{folder}: {stray[0]} is not in the manifest, but Anserini would index it"
        raise ArtifactError(f"{message}; remove it")
    if missing := sorted(set(shards) - present):
        raise ArtifactError(f"{folder}: {missing[0]} is missing; run the encode command again")
    for name, shard in shards.items():
        if sha256(folder / name) != shard.sha256:
            message = f"{folder / name}: truncated or changed since it was written"
            raise ArtifactError(f"{message}; remove it and run the encode command again")
    return manifest
