"""How many documents contain each term, counted before a corpus is encoded.

::

    encode/pydoc.spade.counts.json      the number of documents, and of those with each WordPiece

A model with ``corpus_idf`` weighs terms by how rare they are in the corpus. A run that continues
an encoding, and other parts of the same encoding, use the counts that exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import torch

from spade_pyserini.corpora import Corpus
from spade_pyserini.corpora.checks import OnError, raise_error
from spade_pyserini.errors import ArtifactError, NotFoundError, SpadeError, UsageError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.digests import sha256
from spade_pyserini.formats.paths import sibling
from spade_pyserini.formats.sealed_json import read_sealed, write_sealed
from spade_pyserini.formats.vector_manifest import VectorManifest
from spade_pyserini.models.encoder import SpadeEncoder
from spade_pyserini.models.term_counts import TermCounts, count_terms
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.progress import Progress
from spade_pyserini.sharding.part import parts_of

FORMAT = "spade_pyserini.counts/1"


class StoredCounts(NamedTuple):
    """Term counts and the digest of their file."""

    counts: TermCounts
    sha256: str


def counts_path(folder: Path) -> Path:
    """``encode/X`` gives ``encode/X.counts.json``."""
    return sibling(folder, "counts.json")


def ensure_counts(
    corpus: Corpus,
    encoder: SpadeEncoder,
    folder: Path,
    known: str | None,
    on_error: OnError,
    progress: str,
) -> StoredCounts:
    """Load the counts file of ``folder`` if its digest is ``known``; otherwise count the corpus."""
    path = counts_path(folder)
    wordpieces, max_length = encoder.wordpieces, encoder.config.max_length
    if not path.exists() or sha256(path) != known:
        counts = count_corpus(corpus, wordpieces, max_length, on_error, progress)
        save_counts(counts, wordpieces, path, corpus.name, max_length)
    return StoredCounts(load_counts(path, wordpieces), sha256(path))


def counts_of_other_part(
    corpus: Corpus, encoder: SpadeEncoder, folder: Path, overwrite: bool
) -> str | None:
    """The digest of the counts that another part uses for the same corpus, None if there are none.

    With ``overwrite``, only the counts of an unfinished part: since a part was finished, the corpus
    may have changed.
    """
    path = counts_path(folder)
    try:
        values = read_sealed(path, FORMAT)
    except SpadeError:
        return None  # missing or damaged: the corpus is counted again
    needed = (corpus.name, encoder.wordpieces.fingerprint, encoder.config.max_length)
    stored = (values["corpus"], values["tokenizer_fingerprint"], values.get("max_length"))
    digest = sha256(path)
    in_use = _counts_in_use(folder, only_unfinished=overwrite)
    return digest if stored == needed and digest in in_use else None


def _counts_in_use(folder: Path, *, only_unfinished: bool) -> Iterator[str | None]:
    """The digests of the counts that the parts of ``folder`` use."""
    for part in parts_of(folder):
        with suppress(SpadeError):  # skip a damaged manifest
            manifest = VectorManifest.load(folder, part.manifest)
            if not (only_unfinished and manifest.complete):
                yield manifest.settings.counts_sha256


def check_counts_file(source: Path, encoder: SpadeEncoder) -> str:
    """The digest of the counts of another corpus, checked for use with the encoder."""
    if not encoder.needs_counts:
        raise UsageError("the model does not use term counts; leave out counts=FILE")
    if not source.is_file():
        message = f"{source}: no such file; the counts of a corpus are next to its vectors"
        raise NotFoundError(message)
    load_counts(source, encoder.wordpieces)
    return sha256(source)


def copy_counts(source: Path, folder: Path) -> None:
    """Copy the counts of another corpus to the counts file of ``folder``."""
    if source != counts_path(folder):
        with atomic_write(counts_path(folder)) as stream:
            stream.write(source.read_bytes())


def count_corpus(
    corpus: Corpus,
    wordpieces: WordPieces,
    max_length: int,
    on_error: OnError = raise_error,
    progress: str = "bar",
) -> TermCounts:
    """Count the terms of all documents, each cut to ``max_length`` WordPieces."""
    with closing(Progress(progress, task="counting terms")) as bar:

        def texts() -> Iterator[str]:
            for document in corpus.documents(on_error):
                yield document.contents
                bar(1, 0)

        return count_terms(wordpieces, texts(), wordpieces.vocabulary_size, max_length)


def save_counts(
    counts: TermCounts, wordpieces: WordPieces, path: Path, corpus: str, max_length: int
) -> None:
    """Write the terms that occur, in the order of the vocabulary."""
    term_ids = counts.df.nonzero().flatten().tolist()
    values = {
        "format": FORMAT,
        "corpus": corpus,
        "tokenizer_fingerprint": wordpieces.fingerprint,
        "max_length": max_length,
        "documents": counts.documents,
        "length": counts.length,
        "terms": {wordpieces.terms[term_id]: int(counts.df[term_id]) for term_id in term_ids},
    }
    write_sealed(path, values)


def load_counts(path: Path, wordpieces: WordPieces) -> TermCounts:
    """Read a counts file that was made with the same WordPieces."""
    values = read_sealed(path, FORMAT)
    if values["tokenizer_fingerprint"] != wordpieces.fingerprint:
        message = f"{path} was counted with other WordPieces than the model's"
        raise ArtifactError(f"{message}; encode with the model that it was counted for")
    df = torch.zeros(wordpieces.vocabulary_size, dtype=torch.long)
    for term, documents in values["terms"].items():
        df[wordpieces.term_ids[term]] = documents
    return TermCounts(df, values["documents"], values["length"])
