"""The output files of an encoding, with the interface of `ShardFiles`; see `formats.vectors`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from spade_pyserini.formats.components import components_intact, record, remove_components
from spade_pyserini.formats.digests import sha256
from spade_pyserini.formats.paths import remove
from spade_pyserini.formats.query_side import BOOLEAN, QuerySide, save_weights
from spade_pyserini.formats.vector_manifest import (
    Shard,
    VectorManifest,
    VectorSettings,
    is_shard_name,
    tokenizer_path,
)
from spade_pyserini.models.protocols import DocumentEncoder
from spade_pyserini.models.wordpieces import WordPieces


@dataclass(frozen=True)
class VectorFiles:
    """A folder of impact vectors; with ``components``, also the components of each shard."""

    wordpieces: WordPieces
    trained: bool
    components: bool = False
    query: QuerySide = BOOLEAN
    query_weights: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, encoder: DocumentEncoder, components: bool = False) -> VectorFiles:
        """Describe the output files for the vectors of an encoder."""
        side, weights = encoder.queries.side, encoder.queries.weights
        return cls(encoder.wordpieces, encoder.config.trained, components, side, weights)

    def is_shard_name(self, name: str) -> bool:
        """Whether ``name`` is the name of a shard of vectors."""
        return is_shard_name(name)

    def load(self, folder: Path, name: str) -> VectorManifest:
        """Read the manifest ``FOLDER.NAME`` next to ``folder``."""
        return VectorManifest.load(folder, name)

    def new_manifest(self, settings: VectorSettings) -> VectorManifest:
        """Return an incomplete manifest without shards."""
        return VectorManifest(settings, self.trained, query=self.query)

    def write_common(self, folder: Path) -> None:
        """Write the tokenizer, and the weights of query terms if there are any."""
        self.wordpieces.save(tokenizer_path(folder))
        save_weights(folder, self.query, self.query_weights)

    def is_intact(self, folder: Path, shard: Shard) -> bool:
        """Whether the vectors of a shard and, with ``components``, its components are unchanged."""
        path = folder / shard.file
        if not path.is_file() or sha256(path) != shard.sha256:
            return False
        return not self.components or components_intact(folder, shard)

    def record_companion(self, folder: Path, shard: Shard, sha256: str) -> None:
        """Record the digest of a shard's components in the manifest of the components."""
        record(folder, shard, sha256)

    def remove(self, folder: Path, names: Iterable[str] | None) -> None:
        """Remove the shards ``names``, or all shards if ``names`` is None, and their components."""
        if names is None:
            present = [path.name for path in folder.iterdir()] if folder.is_dir() else []
            shards = [name for name in present if is_shard_name(name)]
            remove_components(folder)
        else:
            shards = list(names)
            remove_components(folder, shards)
        for name in shards:
            remove(folder / name)
