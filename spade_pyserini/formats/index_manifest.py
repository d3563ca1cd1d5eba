"""What is known of an index: ``index/X.manifest.json`` beside the folder ``index/X``.

An impact index also has ``index/X.tokenizer.json``: the WordPieces of its terms, all that a
query needs.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.errors import ArtifactError
from spade_pyserini.formats.files import chosen, read_sealed, sibling, write_sealed
from spade_pyserini.formats.vectors import VectorManifest, VectorSettings
from spade_pyserini.lucene import jvm
from spade_pyserini.models.wordpieces import WordPieces, resolve_tokenizer

FORMAT = "spade_pyserini.index/2"
FIELD = "contents"
# What Lucene says of an index of another version: its format, or a codec that is not there.
OTHER_VERSION = re.compile(r"IndexFormatToo|Could not load codec|SPI class of type")
CURE = "build it again with --overwrite"
BEFORE = "before-the-change"  # beside an index: as it was, until a change of it is whole


class LuceneCounts(NamedTuple):
    """What Lucene itself says is in an index."""

    documents: int
    postings: int
    impacts: int


@dataclass(frozen=True)
class IndexManifest:
    """``kind`` is ``impact`` or ``bm25``; ``source_sha256`` is the digest of what was indexed.

    ``builder``: ``anserini`` or ``direct``, see `spade_pyserini.index.build`. ``encoder`` is the
    same for vectors that can be in one index. ``reordered``: documents that share terms stand
    beside each other, see `spade_pyserini.index.reorder`. ``updates``: what was added and deleted
    since. ``empty``: the ids of documents without a term, where they are known.
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

    def save(self, folder: Path) -> None:
        """Write the manifest beside ``folder``."""
        write_sealed(manifest_path(folder), {"format": FORMAT, **asdict(self)})

    @classmethod
    def load(cls, folder: Path) -> IndexManifest:
        """Read the manifest beside ``folder``."""
        path = manifest_path(folder)
        if not folder.is_dir():
            if was_interrupted(folder):
                message = f"{folder}: a change of this index was interrupted"
                raise ArtifactError(f"{message}; run the same spade_pyserini.index again")
            raise ArtifactError(f"{folder}: no such index; build it with spade_pyserini.index")
        if not path.is_file():
            raise ArtifactError(
                f"{folder} has no manifest ({path.name} beside it): the index was made by another "
                "tool, or not finished; build it with spade_pyserini.index"
            )
        values = read_sealed(path, FORMAT)
        return cls(**{part.name: values[part.name] for part in fields(cls) if part.name in values})


def encoder_digest(settings: VectorSettings) -> str:
    """Of all that makes the impacts of one document comparable with those of another."""
    apart = {"corpus", "model", "shard_size", "batch_tokens"}
    values = {name: value for name, value in chosen(settings).items() if name not in apart}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def empty_ids(encoded: VectorManifest) -> list[str]:
    """The ids of documents that have no term."""
    return [docid for shard in encoded.shards for docid in shard.empty]


def manifest_path(folder: Path) -> Path:
    return sibling(folder, "manifest.json")


def tokenizer_path(folder: Path) -> Path:
    return sibling(folder, "tokenizer.json")


def was_interrupted(folder: Path) -> bool:
    """Whether a change was killed between moving the old index away and the new one in."""
    return sibling(folder, BEFORE).is_dir() and not folder.exists()


def impact_manifest(folder: Path) -> IndexManifest:
    """The manifest of an index, ours or another tool's, that has impacts."""
    manifest = foreign_manifest(folder)
    if manifest.kind != "impact":
        raise ArtifactError(f"{folder} is a {manifest.kind} index, it has no impacts")
    return manifest


def foreign_manifest(folder: Path) -> IndexManifest:
    """The manifest of an index; of one that another tool made, what Lucene says."""
    if manifest_path(folder).is_file() or not folder.is_dir():
        return IndexManifest.load(folder)
    counts = lucene_counts(folder)
    if not counts.postings:
        raise ArtifactError(f"{folder}: its field {FIELD!r} is empty, this is no impact index")
    return IndexManifest(
        kind="impact",
        corpus=folder.name,
        model=folder.name,
        documents=counts.documents,
        empty_documents=0,
        postings=counts.postings,
        impacts=counts.impacts,
        source_sha256="",
        tokenizer_fingerprint=None,
        optimized=False,
        builder="another tool",
        anserini="",
    )


def index_tokenizer(folder: Path, tokenizer: str | Path | None = None) -> WordPieces:
    """The tokenizer of an impact index; another one than the index was made with is refused.

    ``tokenizer`` is a file, or a folder or name of a model; an index of another tool's needs one.
    """
    manifest = foreign_manifest(folder) if tokenizer else IndexManifest.load(folder)
    if manifest.kind != "impact":
        raise ArtifactError(f"{folder} is a {manifest.kind} index, it has no WordPieces")
    source = resolve_tokenizer(tokenizer) if tokenizer else tokenizer_path(folder)
    if not source.exists():
        cure = "pass --tokenizer" if manifest.tokenizer_fingerprint is None else "build it again"
        raise ArtifactError(f"{folder}: {source} is missing; {cure}")
    wordpieces = WordPieces.load(source)
    if manifest.tokenizer_fingerprint not in (None, wordpieces.fingerprint):
        raise ArtifactError(
            f"{folder} was made with another tokenizer than {source}; "
            "use the one that its documents were encoded with"
        )
    return wordpieces


def lucene_counts(folder: Path) -> LuceneCounts:
    """Open the index with Lucene and count; `ArtifactError` where Lucene cannot."""
    place = jvm.java_class("java.nio.file.Paths").get(str(folder))
    with told(folder, "open"):
        directory = jvm.java_class("org.apache.lucene.store.FSDirectory").open(place)
        try:
            reader = jvm.java_class("org.apache.lucene.index.DirectoryReader").open(directory)
        finally:
            directory.close()
    try:
        counts = LuceneCounts(
            reader.numDocs(), reader.getSumDocFreq(FIELD), reader.getSumTotalTermFreq(FIELD)
        )
        deleted = reader.hasDeletions()
    finally:
        reader.close()
    if not deleted:
        return counts
    from spade_pyserini.index.postings import Postings

    with Postings(folder) as postings:  # Lucene's sums have those of deleted documents too
        figures = postings.figures(0)
    impacts = sum(impact * number for impact, number in figures.impacts.items())
    return LuceneCounts(counts.documents, figures.postings, impacts)


@contextmanager
def told(folder: Path, work: str, cure: str = CURE) -> Iterator[None]:
    """What Java throws in the block as an `ArtifactError`: Lucene cannot do this ``work``."""
    jvm.start()
    import jnius  # not before: it starts a JVM if there is none

    try:
        yield
    except jnius.JavaException as error:
        refuse_version(folder, str(error))
        reason = str(error).splitlines()[0][:200]
        message = f"{folder}: Lucene cannot {work} this index ({reason})"
        raise ArtifactError(f"{message}; {cure}") from None


def refuse_version(folder: Path, reason: str) -> None:
    """Raise `ArtifactError` if Lucene's ``reason`` is that another version wrote the index."""
    if OTHER_VERSION.search(reason):
        message = f"{folder}: written by another version of Lucene, which this one cannot read"
        raise ArtifactError(f"{message}; {CURE}")
