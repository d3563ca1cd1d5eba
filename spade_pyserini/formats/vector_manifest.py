"""The manifest of a folder of impact vectors: settings, counts, and a checksum of each shard.

``encode/X.manifest.json`` describes the folder ``encode/X``.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from spade_pyserini.errors import ArtifactError
from spade_pyserini.formats.digests import non_default_fields
from spade_pyserini.formats.paths import sibling
from spade_pyserini.formats.query_side import BOOLEAN, QuerySide, query_side
from spade_pyserini.formats.sealed_json import read_sealed, write_sealed
from spade_pyserini.records import RemovedTerm

FORMAT = "spade_pyserini.vectors/1"
MANIFEST = "manifest.json"
SUMMARY = (
    *("corpus_fingerprint", "documents", "empty_documents"),
    *("terms", "impacts", "terms_per_document"),
)


# Settings that older versions did not have. They are written only if they differ from their
# defaults, so that manifests with default settings are the same as those of older versions.
LATER = ("prune_ratio", "corpus_gamma", "fields", "system")
# Fields of `VectorManifest` that older versions did not have.
LATER_FIELDS = ("source", "query", "model_folder")
# Fields of `Shard` that are missing in manifests of early versions.
LENGTHS = ("wordpieces", "longer", "left_out")


@dataclass(frozen=True)
class Shard:
    """A finished file of vectors.

    file: name of the file.
    documents: number of documents in the file.
    empty: ids of the documents without any term.
    terms: number of terms, over all documents.
    impacts: sum of all impacts.
    clipped: number of weights that were too large and were reduced to the largest impact.
    sha256: digest of the file.
    input_sha256: digest of the documents that were encoded.
    wordpieces: number of WordPieces in the complete documents. This field and the next two are
        None in manifests of early versions.
    longer: number of documents that are longer than the maximum length.
    left_out: number of WordPieces beyond the maximum length, which were not read.
    """

    file: str
    documents: int
    empty: list[str]
    terms: int
    impacts: int
    clipped: int
    sha256: str
    input_sha256: str
    wordpieces: int | None = None
    longer: int | None = None
    left_out: int | None = None

    @property
    def number(self) -> int:
        """Number of the shard, from 0."""
        return shard_number(self.file)


class Lengths(NamedTuple):
    """Sums over the shards whose lengths are known.

    Each field is the sum of the field of `Shard` with the same name.
    """

    documents: int
    wordpieces: int
    longer: int
    left_out: int

    @property
    def share_left_out(self) -> float:
        return self.left_out / self.wordpieces if self.wordpieces else 0.0


@dataclass(frozen=True)
class VectorSettings:
    """All settings that, together with the documents, determine the contents of the shards.

    alpha: weight of the expansion encoder (Eq. 10 of the paper). It is 0.5, equal weights, for a
        system with one encoder.
    k: number of expansion terms kept for each token (Eq. 8); 0 for a system with one encoder.
    fields: describes the columns that were read; empty if the same columns are read when the user
        names no column.
    system: the kind of model, such as ``splade``; empty for SpaDE.
    """

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
    prune_ratio: float = 0.0
    corpus_gamma: float = 0.0
    fields: str = ""
    system: str = ""

    def recorded(self) -> dict[str, Any]:
        """The settings by name; a setting in `LATER` is left out if it has its default value."""
        changed = non_default_fields(self)
        return {
            name: value
            for name, value in asdict(self).items()
            if name not in LATER or name in changed
        }


@dataclass(frozen=True)
class VectorManifest:
    """The description of a folder of vectors.

    settings: all settings that determine the vectors.
    trained: whether the model was trained, not only initialized.
    complete: whether all documents are encoded.
    shards: the finished shards in the order of their numbers; some may be missing until
        ``complete``.
    corpus_documents: in the manifest of a part of a corpus, the number of documents in the entire
        corpus. It is None if this number is not known, or if the manifest is not that of a part.
    removed_expansions: the terms that corpus-level pruning removed from the expansion vectors.
    source: how to open the corpus again, see `spade_pyserini.corpora.recorded`; empty in manifests
        of earlier versions.
    query: how queries for these vectors are encoded; boolean in manifests of earlier versions.
    model_folder: the absolute path of the model's folder; empty if the model is not in a local
        folder, and in manifests of earlier versions.
    """

    settings: VectorSettings
    trained: bool
    complete: bool = False
    shards: list[Shard] = field(default_factory=list)
    corpus_documents: int | None = None
    removed_expansions: list[RemovedTerm] = field(default_factory=list)
    source: dict[str, str] = field(default_factory=dict)
    query: QuerySide = BOOLEAN
    model_folder: str = ""

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
    def lengths(self) -> Lengths:
        """Total length of the documents, and how much of it was left out."""
        known = [shard for shard in self.shards if shard.wordpieces is not None]
        return Lengths(
            documents=sum(shard.documents for shard in known),
            wordpieces=sum(shard.wordpieces or 0 for shard in known),
            longer=sum(shard.longer or 0 for shard in known),
            left_out=sum(shard.left_out or 0 for shard in known),
        )

    @property
    def corpus_fingerprint(self) -> str:
        """Digest of all documents, computed from the digests of the shards."""
        digests = "".join(shard.input_sha256 for shard in self.shards)
        return hashlib.sha256(digests.encode()).hexdigest()

    @property
    def terms_per_document(self) -> float:
        return self.terms / self.documents if self.documents else 0.0

    def save(self, folder: Path, name: str = MANIFEST) -> None:
        """Write the manifest next to ``folder``."""
        summary = {name: getattr(self, name) for name in SUMMARY}
        values = {"format": FORMAT, **summary, **asdict(self), "settings": self.settings.recorded()}
        values["shards"] = [_without_unknown(shard) for shard in values["shards"]]
        removed = [term._asdict() for term in values.pop("removed_expansions")]
        if removed:
            values["removed_expansions"] = removed
        # Default values are left out, as in manifests of earlier versions.
        for later in LATER_FIELDS:
            if getattr(self, later) in ({}, "", BOOLEAN):
                del values[later]
        write_sealed(sibling(folder, name), values)

    @classmethod
    def load(cls, folder: Path, name: str = MANIFEST) -> VectorManifest:
        """Read the manifest next to ``folder``; an edited manifest is an error."""
        path = sibling(folder, name)
        if not path.is_file():
            if not folder.exists():
                raise ArtifactError(f"{folder}: no such folder; write it with `spade encode`")
            raise ArtifactError(
                f"{folder} has no manifest (there is no {path.name} next to it): `spade encode` "
                "did not write this folder, or it was copied only in part; encode again"
            )
        values = read_sealed(path, FORMAT)
        manifest = cls(
            settings=_from_fields(VectorSettings, values["settings"]),
            trained=values["trained"],
            complete=values["complete"],
            shards=[_from_fields(Shard, shard) for shard in values["shards"]],
            corpus_documents=values.get("corpus_documents"),
            removed_expansions=[
                RemovedTerm(**term) for term in values.get("removed_expansions", [])
            ],
            source=values.get("source", {}),
            query=query_side(values.get("query")),
            model_folder=values.get("model_folder", ""),
        )
        for shard in manifest.shards:
            if not is_shard_name(shard.file):  # for example ../name, outside the folder
                message = f"{path}: {shard.file!r} is not the name of a shard"
                raise ArtifactError(f"{message}; encode again with overwrite=True")
        return manifest


def _without_unknown(shard: dict[str, Any]) -> dict[str, Any]:
    """Leave out unknown lengths, so that manifests of early versions stay the same."""
    return {k: v for k, v in shard.items() if not (k in LENGTHS and v is None)}


def _from_fields(record: Any, values: dict[str, Any]) -> Any:
    """Create a ``record`` from the fields in ``values``; ignore unknown fields."""
    names = [field.name for field in fields(record) if field.name in values]
    return record(**{name: values[name] for name in names})


def manifest_path(folder: Path) -> Path:
    """Return the path of the manifest: ``encode/X`` gives ``encode/X.manifest.json``."""
    return sibling(folder, MANIFEST)


def tokenizer_path(folder: Path) -> Path:
    """Return the path of the tokenizer: ``encode/X`` gives ``encode/X.tokenizer.json``."""
    return sibling(folder, "tokenizer.json")


def shard_name(number: int) -> str:
    """Return the file name of a shard: ``3`` gives ``docs0003.jsonl.gz``."""
    return f"docs{number:04d}.jsonl.gz"


def shard_number(name: str) -> int:
    """Return the number of a shard: ``docs0003.jsonl.gz`` gives ``3``."""
    return int(name.removeprefix("docs").split(".")[0])


def is_shard_name(name: str) -> bool:
    """Whether ``name`` is the file name of a shard, see `shard_name`."""
    return re.fullmatch(r"docs\d{4,}\.jsonl\.gz", name) is not None
