"""The manifest of an index and the other files next to its folder.

::

    index/pydoc.spade/                      the Lucene index
    index/pydoc.spade.manifest.json         digest of the input, counts, settings
    index/pydoc.spade.tokenizer.json        the WordPiece vocabulary, for encoding queries
    index/pydoc.spade.queries-HEX.json      the table of query term weights, if queries need one
    index/.pydoc.spade.HEX.previous/        the previous index, only while it is being replaced

HEX stands for hexadecimal digits. A BM25 index has no tokenizer file.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from spade_pyserini.errors import ArtifactError
from spade_pyserini.formats.paths import sibling
from spade_pyserini.formats.private_names import private_siblings
from spade_pyserini.formats.query_side import BOOLEAN, QuerySide, query_side
from spade_pyserini.formats.sealed_json import read_sealed, write_sealed
from spade_pyserini.formats.similar import did_you_mean

FORMAT = "spade_pyserini.index/2"
PREVIOUS = "previous"


@dataclass(frozen=True)
class IndexManifest:
    """What an index contains and how it was built.

    - ``kind``: ``impact`` or ``bm25``.
    - ``corpus``, ``model``: their names, for reports.
    - ``documents``: number of documents with at least one term; ``empty_documents``: number of
      documents without any term.
    - ``postings``, ``impacts``: number of postings, and the sum of their impacts.
    - ``source_sha256``: digest of the input; empty if another tool built the index.
    - ``tokenizer_fingerprint``: digest of the tokenizer of the terms; None if it is not known.
    - ``optimized``: whether all segments were merged into one.
    - ``builder``: ``direct`` or ``anserini``, see `spade_pyserini.index.options`.
    - ``anserini``: name and version of Anserini's jar.
    - ``encoder``: digest of the model and its settings; vectors with the same digest can share an
      index. None if another tool made the vectors.
    - ``reordered``: whether similar documents are next to each other, see
      `spade_pyserini.index.reorder`.
    - ``updates``: additions and deletions since the index was built, oldest first.
    - ``empty``: the ids of the empty documents, if they are known.
    - ``sources``: how to open the corpora of the documents again, to show their texts; see
      `spade_pyserini.corpora.recorded`. Empty if the corpora are not known.
    - ``commit``: digest of the file in which Lucene lists the segments of the index. While an index
      is replaced, this digest shows whether the manifest belongs to the old or the new folder. None
      in manifests of earlier versions.
    - ``query``: how queries are encoded. Manifests of earlier versions lack it; their queries are
      boolean.
    - ``keep``, ``prune_ratio``: which terms were indexed, see `spade_pyserini.index.pruning`.
    - ``pruned_postings``: the number of postings that pruning left out; ``pruned_impacts``: the sum
      of their impacts. Both include what was left out of documents added later.
    - ``model_folder``, ``model_fingerprint``: the absolute path of the model's folder, and the
      digest of the model with its settings. Empty if they are not known; the first is also empty if
      the model was not in a local folder.
    """

    kind: str
    corpus: str
    model: str
    documents: int
    empty_documents: int
    postings: int
    impacts: int
    source_sha256: str
    tokenizer_fingerprint: str | None
    optimized: bool
    builder: str
    anserini: str
    encoder: str | None = None
    reordered: bool = False
    updates: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    sources: list[dict[str, str]] = field(default_factory=list)
    commit: str | None = None
    query: QuerySide = BOOLEAN
    keep: float = 1.0
    prune_ratio: float = 0.0
    pruned_postings: int = 0
    pruned_impacts: int = 0
    model_folder: str = ""
    model_fingerprint: str = ""

    def save(self, folder: Path) -> None:
        """Write the manifest of the index in ``folder``."""
        values = {"format": FORMAT, **asdict(self)}
        # Fields with default values are left out, as in the manifests of earlier versions.
        for name in LATER:
            if getattr(self, name) == DEFAULTS[name]:
                del values[name]
        write_sealed(manifest_path(folder), values)

    @classmethod
    def load(cls, folder: Path) -> IndexManifest:
        """Read the manifest of the index in ``folder``; raise `ArtifactError` if there is none."""
        path = manifest_path(folder)
        if not folder.is_dir() and not previous_paths(folder):
            hint = did_you_mean(folder, folders=True)
            raise ArtifactError(f"{folder}: no such index; {hint}build it with `spade index`")
        if not path.is_file():
            raise ArtifactError(
                f"{folder} has no manifest (there is no {path.name} next to it): the index was "
                "built by another tool, or its build was not finished; build it with `spade index`"
            )
        values = read_sealed(path, FORMAT)
        known = {part.name: values[part.name] for part in fields(cls) if part.name in values}
        return cls(**{**known, "query": query_side(values.get("query"))})


# Fields that earlier versions did not have. A default value is not written.
LATER = (
    *("query", "keep", "prune_ratio", "pruned_postings", "pruned_impacts"),
    *("model_folder", "model_fingerprint"),
)
DEFAULTS = {part.name: part.default for part in fields(IndexManifest)}


def manifest_path(folder: Path) -> Path:
    """Return the path of the manifest of the index in ``folder``."""
    return sibling(folder, "manifest.json")


def tokenizer_path(folder: Path) -> Path:
    """Return the path of the tokenizer of the index in ``folder``."""
    return sibling(folder, "tokenizer.json")


def previous_paths(folder: Path) -> list[Path]:
    """Return the folders of previous indexes, which exist while ``folder`` is being replaced.

    There is at most one such folder, unless a process was killed.
    """
    return private_siblings(folder, PREVIOUS)
