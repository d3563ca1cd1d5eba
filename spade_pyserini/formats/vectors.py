"""A folder of impact vectors, and the manifest beside it.

::

    encode/pydoc.spade/docs0000.jsonl.gz      {"id": "len", "vector": {"length": 91, ...}}
    encode/pydoc.spade/docs0001.jsonl.gz
    encode/pydoc.spade.manifest.json          what made them, counts, a checksum for each
    encode/pydoc.spade.tokenizer.json         the WordPieces that the terms are
    encode/pydoc.spade.counts.json            how many documents have each, where the model asks

Anserini reads every file below the folder, so nothing else is ever put there.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from secrets import token_hex
from typing import IO, Any

from spade_pyserini.errors import ArtifactError, InputError
from spade_pyserini.formats.files import (
    atomic_write,
    is_local,
    location,
    read_json_object,
    read_lines,
    read_sealed,
    remove,
    sha256,
    sibling,
    write_sealed,
)
from spade_pyserini.records import ImpactVector

FORMAT = "spade_pyserini.vectors/1"
MANIFEST = "manifest.json"
SUMMARY = (
    *("corpus_fingerprint", "documents", "empty_documents"),
    *("terms", "impacts", "terms_per_document"),
)


@dataclass(frozen=True)
class Shard:
    """A finished file of vectors. ``input_sha256`` is the digest of the documents it encodes."""

    file: str
    documents: int
    empty: list[str]
    terms: int
    impacts: int
    clipped: int
    sha256: str
    input_sha256: str

    @property
    def number(self) -> int:
        """The first shard's is 0."""
        return shard_number(self.file)


@dataclass(frozen=True)
class VectorSettings:
    """All that decides the bytes of the shards, beside the documents."""

    corpus: str
    model: str
    model_fingerprint: str
    tokenizer_fingerprint: str
    alpha: float
    k: int
    max_length: int
    bits: int
    scale: float
    shard_size: int
    batch_tokens: int
    counts_sha256: str | None = None
    precision: str = "fp32"
    saturate: bool = False


@dataclass(frozen=True)
class VectorManifest:
    """What is known of a folder of vectors.

    ``shards`` are in the order of their numbers. Some may be missing until all is ``complete``.
    ``corpus_documents``, of a part: how many documents the corpus had for it, to its end.
    """

    settings: VectorSettings
    trained: bool
    complete: bool = False
    shards: list[Shard] = field(default_factory=list)
    corpus_documents: int | None = None

    @property
    def documents(self) -> int:
        return sum(shard.documents for shard in self.shards)

    @property
    def empty_documents(self) -> int:
        return sum(len(shard.empty) for shard in self.shards)

    @property
    def terms(self) -> int:
        return sum(shard.terms for shard in self.shards)

    @property
    def impacts(self) -> int:
        return sum(shard.impacts for shard in self.shards)

    @property
    def corpus_fingerprint(self) -> str:
        """The digest of all documents, by way of those of the shards."""
        digests = "".join(shard.input_sha256 for shard in self.shards)
        return hashlib.sha256(digests.encode()).hexdigest()

    @property
    def terms_per_document(self) -> float:
        return self.terms / self.documents if self.documents else 0.0

    def save(self, folder: Path, name: str = MANIFEST) -> None:
        """Write the manifest beside ``folder``."""
        summary = {name: getattr(self, name) for name in SUMMARY}
        write_sealed(sibling(folder, name), {"format": FORMAT, **summary, **asdict(self)})

    @classmethod
    def load(cls, folder: Path, name: str = MANIFEST) -> VectorManifest:
        """Read the manifest beside ``folder``; one that was edited is an error."""
        path = sibling(folder, name)
        if not path.is_file():
            raise ArtifactError(
                f"{folder} has no manifest ({path.name} beside it): not made by "
                "spade_pyserini.encode, or not whole; encode again"
            )
        values = read_sealed(path, FORMAT)
        manifest = cls(
            settings=_made(VectorSettings, values["settings"]),
            trained=values["trained"],
            complete=values["complete"],
            shards=[_made(Shard, shard) for shard in values["shards"]],
            corpus_documents=values.get("corpus_documents"),
        )
        for shard in manifest.shards:
            if not is_shard_name(shard.file):  # a name is never a way out of the folder
                raise ArtifactError(f"{path}: no shard is called {shard.file!r}")
        return manifest


def _made(record: Any, values: dict[str, Any]) -> Any:
    return record(
        **{part.name: values[part.name] for part in fields(record) if part.name in values}
    )


def manifest_path(folder: Path) -> Path:
    return sibling(folder, MANIFEST)


def tokenizer_path(folder: Path) -> Path:
    return sibling(folder, "tokenizer.json")


def shard_name(number: int) -> str:
    return f"docs{number:04d}.jsonl.gz"


def shard_number(name: str) -> int:
    return int(name.removeprefix("docs").split(".")[0])


def is_shard_name(name: str) -> bool:
    return re.fullmatch(r"docs\d{4,}\.jsonl\.gz", name) is not None


def write_shard(folder: Path, number: int, vectors: Iterable[ImpactVector]) -> str:
    """Write one shard under a temporary name beside the folder, then move it in.

    Returns its checksum, once the file has been read back. The bytes depend on the vectors alone:
    gzip is told no time, no name.
    """
    path = folder / shard_name(number)
    temporary = sibling(folder, f"{path.name}.{token_hex(4)}.tmp")  # two workers may have the shard
    with atomic_write(path, temporary) as stream:
        written = _Hashed(stream)
        with gzip.GzipFile("", "wb", fileobj=written, mtime=0, compresslevel=6) as packed:
            for docid, impacts in vectors:
                line = json.dumps({"id": docid, "vector": impacts}, ensure_ascii=False)
                packed.write(line.encode() + b"\n")
    if sha256(path) != written.digest.hexdigest():
        remove(path)
        raise ArtifactError(f"{path}: reads otherwise than it was written; is the disk damaged?")
    return written.digest.hexdigest()


def remove_unfinished(folder: Path, is_ours: Callable[[int], bool]) -> None:
    """Remove what a killed run left beside the folder of shards with these numbers."""
    near = sibling(folder, "docs")
    pattern = re.compile(rf"{re.escape(near.name)}(\d+)\.jsonl\.gz(\.\w+)?\.tmp")
    for path in near.parent.iterdir() if is_local(near) else ():
        found = pattern.fullmatch(path.name)
        if found and is_ours(int(found[1])):
            remove(path)


class _Hashed(io.RawIOBase):
    """A stream that knows the digest of what was written to it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.digest = stream, hashlib.sha256()

    def write(self, data: Any) -> int:
        self.digest.update(data)
        return self.stream.write(data)


def read_shard(path: Path) -> Iterator[ImpactVector]:
    """The vectors of one shard, each checked: a term is one word, an impact a whole number.

    For vectors of any origin. Those with a manifest are checked by `verify` without reading them.
    """
    for number, line in read_lines(path):
        values = read_json_object(line, path, number)
        docid, impacts = values.get("id"), values.get("vector")
        if not isinstance(docid, str) or not docid:
            raise InputError("a vector needs its document's `id` as text", path, number)
        if not isinstance(impacts, dict):
            raise InputError("a vector needs its impacts as an object in `vector`", path, number)
        for term, impact in impacts.items():
            if not isinstance(impact, int) or isinstance(impact, bool) or impact < 1:
                message = f"the impact of {term!r} is {impact!r}; Anserini takes whole numbers"
                cure = "and silently drops others; quantize first, to whole numbers"
                raise InputError(f"{message} of 1 or more {cure}", path, number)
            if term.split() != [term]:
                raise InputError(f"Anserini would split the term {term!r}", path, number)
        yield ImpactVector(docid, impacts)


def read_vectors(folder: str | Path) -> Iterator[ImpactVector]:
    """All vectors of a folder in the order of its manifest."""
    place = location(folder)
    for shard in VectorManifest.load(place).shards:
        yield from read_shard(place / shard.file)


def verify(folder: Path, manifest: VectorManifest | None = None) -> VectorManifest:
    """Check that the folder holds exactly what its manifest says; return the manifest."""
    manifest = manifest or VectorManifest.load(folder)
    if not manifest.complete:
        message = f"{folder}: encoding is not finished ({manifest.documents} documents so far)"
        raise ArtifactError(f"{message}; run the same encode command again to complete it")
    known = {shard.file: shard for shard in manifest.shards}
    present = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if stray := sorted(present - set(known)):
        message = f"{folder}: {stray[0]} does not belong there; Anserini would index it"
        raise ArtifactError(f"{message}, remove it")
    if missing := sorted(set(known) - present):
        raise ArtifactError(f"{folder}: {missing[0]} is missing; run the encode command again")
    for name, shard in known.items():
        if sha256(folder / name) != shard.sha256:
            message = f"{folder / name}: truncated or changed since it was written"
            raise ArtifactError(f"{message}; remove it and run the encode command again")
    return manifest
