"""The counts file: how many documents contain each term, counted before a corpus is encoded.

::

    encode/pydoc.spade.counts.json      the number of documents; for each WordPiece, the number of
                                        documents that contain it; the expansion terms that
                                        corpus-level pruning removes

A model with ``corpus_idf`` weighs terms by how rare they are in the corpus. A model with
``corpus_gamma`` removes expansion terms; see `corpus_pruning`. A run that continues an encoding
uses the existing counts file. The parts of a divided encoding all use the same counts file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch

from spade_pyserini.corpora import Corpus
from spade_pyserini.corpora.checks import OnError, raise_error
from spade_pyserini.encode.corpus_pruning import EvenSample, find_noise
from spade_pyserini.errors import ArtifactError, NotFoundError, SpadeError, UsageError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.digests import sha256
from spade_pyserini.formats.paths import sibling
from spade_pyserini.formats.sealed_json import read_sealed, write_sealed
from spade_pyserini.formats.vector_manifest import VectorManifest
from spade_pyserini.models.protocols import CorpusEncoder, DocumentEncoder, needs_counts
from spade_pyserini.models.term_counts import TermCounts, count_terms
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.progress import Progress
from spade_pyserini.records import RemovedTerm
from spade_pyserini.sharding.part import parts_of

E = TypeVar("E", bound=CorpusEncoder)
FORMAT = "spade_pyserini.counts/1"
PRUNING = "corpus_pruning"  # key of the removed terms in the file; absent without corpus_gamma


class CorpusCounts(NamedTuple):
    """Term counts of a corpus, and the expansion terms that corpus-level pruning removes.

    sample: number of documents from which the removed terms were determined; 0 without
        ``corpus_gamma``.
    """

    counts: TermCounts
    removed: tuple[RemovedTerm, ...]
    sample: int


class StoredCounts(NamedTuple):
    """An encoder with the counts of a counts file.

    encoder: the encoder, which uses these counts.
    sha256: the digest of the counts file.
    """

    encoder: CorpusEncoder
    sha256: str


def counts_path(folder: Path) -> Path:
    """Return the path of the counts file: ``encode/X`` gives ``encode/X.counts.json``."""
    return sibling(folder, "counts.json")


def ensure_counts(
    corpus: Corpus,
    encoder: CorpusEncoder,
    folder: Path,
    known: str | None,
    on_error: OnError,
    progress: str,
) -> StoredCounts:
    """Return an encoder that uses the counts of ``corpus``, and the digest of the counts file.

    If the counts file of ``folder`` exists and its digest is ``known``, that file is used.
    Otherwise the terms of the corpus are counted, and the file is written.
    """
    path = counts_path(folder)
    if not path.exists() or sha256(path) != known:
        counted = count_corpus(corpus, encoder, on_error, progress)
        save_counts(counted, encoder, path, corpus.name)
    return StoredCounts(fit_encoder(encoder, path), sha256(path))


def fit_encoder(encoder: E, path: Path) -> E:
    """Return a copy of the encoder, with the counts and the removed terms of a counts file."""
    return encoder.for_corpus(load_counts(path, encoder.wordpieces), load_removed(path, encoder))


def counts_of_other_part(
    corpus: Corpus, encoder: CorpusEncoder, folder: Path, overwrite: bool
) -> str | None:
    """Return the digest of the counts file if another part of this encoding uses this file.

    Otherwise None is returned.

    With ``overwrite``, finished parts are ignored, because the corpus may have changed after these
    parts were encoded.
    """
    path = counts_path(folder)
    try:
        values = read_sealed(path, FORMAT)
    except SpadeError:
        return None  # missing or damaged: the corpus is counted again
    needed = (corpus.name, encoder.wordpieces.fingerprint, encoder.config.max_length)
    stored = (values["corpus"], values["tokenizer_fingerprint"], values.get("max_length"))
    same = stored == needed and _has_pruning_of(values, encoder)
    digest = sha256(path)
    return digest if same and digest in _counts_in_use(folder, only_unfinished=overwrite) else None


def _counts_in_use(folder: Path, *, only_unfinished: bool) -> Iterator[str | None]:
    """Yield the digests of the counts files that the parts of ``folder`` use."""
    for part in parts_of(folder):
        with suppress(SpadeError):  # skip a damaged manifest
            manifest = VectorManifest.load(folder, part.manifest)
            if not (only_unfinished and manifest.complete):
                yield manifest.settings.counts_sha256


def check_counts_file(source: Path, encoder: DocumentEncoder) -> str:
    """Check that the encoder can use the counts of another corpus; return the file's digest."""
    if not needs_counts(encoder):
        raise UsageError("the model does not use term counts; leave out counts=FILE")
    if not source.is_file():
        message = f"{source}: no such file; the counts file of a corpus is next to its vectors"
        raise NotFoundError(message)
    fit_encoder(encoder, source)
    return sha256(source)


def copy_counts(source: Path, folder: Path) -> None:
    """Copy the counts of another corpus to the counts file of ``folder``."""
    if source != counts_path(folder):
        with atomic_write(counts_path(folder)) as stream:
            stream.write(source.read_bytes())


def count_corpus(
    corpus: Corpus,
    encoder: CorpusEncoder,
    on_error: OnError = raise_error,
    progress: str = "bar",
) -> CorpusCounts:
    """Count the terms of all documents, each cut to the encoder's ``max_length``.

    With ``corpus_gamma``, a sample of the documents is encoded to find the terms to remove.
    """
    wordpieces, config = encoder.wordpieces, encoder.config
    sample = EvenSample()
    with closing(Progress(progress, task="counting terms")) as bar:

        def texts() -> Iterator[str]:
            for document in corpus.documents(on_error):
                sample.add(document.contents)
                yield document.contents
                bar(1, 0)

        counts = count_terms(wordpieces, texts(), wordpieces.vocabulary_size, config.max_length)
    if not config.corpus_gamma:
        return CorpusCounts(counts, (), 0)
    removed = find_noise(encoder.for_corpus(counts), sample.texts, progress)
    return CorpusCounts(counts, removed, len(sample.texts))


def save_counts(counted: CorpusCounts, encoder: CorpusEncoder, path: Path, corpus: str) -> None:
    """Write a counts file: the terms that occur, with their counts, and the removed terms."""
    counts, wordpieces = counted.counts, encoder.wordpieces
    term_ids = counts.df.nonzero().flatten().tolist()
    values = {
        "format": FORMAT,
        "corpus": corpus,
        "tokenizer_fingerprint": wordpieces.fingerprint,
        "max_length": encoder.config.max_length,
        "documents": counts.documents,
        "length": counts.length,
        "terms": {wordpieces.terms[term_id]: int(counts.df[term_id]) for term_id in term_ids},
    }
    if encoder.config.corpus_gamma:
        removed = [term._asdict() for term in counted.removed]
        values[PRUNING] = {
            **_pruning_settings(encoder),
            "sample": counted.sample,
            "removed": removed,
        }
    write_sealed(path, values)


def load_counts(path: Path, wordpieces: WordPieces) -> TermCounts:
    """Read a counts file; raise `ArtifactError` if its terms are those of another tokenizer."""
    values = read_sealed(path, FORMAT)
    if values["tokenizer_fingerprint"] != wordpieces.fingerprint:
        message = f"{path}: the terms were counted with another tokenizer than the model's"
        raise ArtifactError(f"{message}; use a counts file of this model")
    df = torch.zeros(wordpieces.vocabulary_size, dtype=torch.long)
    for term, documents in values["terms"].items():
        df[wordpieces.term_ids[term]] = documents
    return TermCounts(df, values["documents"], values["length"])


def read_document_shares(path: Path) -> dict[str, float]:
    """Return, for each term in a counts file, the share of the documents that contain it."""
    if not path.is_file():
        message = f"{path}: no such file; the counts file of a corpus is next to its vectors"
        raise NotFoundError(message)
    values = read_sealed(path, FORMAT)
    total = max(1, values["documents"])
    return {term: documents / total for term, documents in values["terms"].items()}


def load_removed(path: Path, encoder: CorpusEncoder) -> tuple[RemovedTerm, ...]:
    """Read the terms that corpus-level pruning removes; return () for a model that does not prune.

    Raises `ArtifactError` if these terms were determined with another model or other settings.
    """
    if not encoder.config.corpus_gamma:
        return ()
    values = read_sealed(path, FORMAT)
    if not _has_pruning_of(values, encoder):
        message = (
            f"{path}: corpus-level pruning was not computed with this model and these settings"
        )
        cure = "use the model and settings of that file, or turn pruning off with corpus_gamma=0"
        raise ArtifactError(f"{message}; {cure}")
    return tuple(RemovedTerm(**term) for term in values[PRUNING]["removed"])


def _has_pruning_of(values: dict[str, Any], encoder: CorpusEncoder) -> bool:
    """Return whether a counts file has the removed terms for this encoder and its settings.

    For an encoder without ``corpus_gamma``, which removes no terms, the result is always True.
    """
    if not encoder.config.corpus_gamma:
        return True
    stored = values.get(PRUNING, {})
    return all(stored.get(key) == value for key, value in _pruning_settings(encoder).items())


def _pruning_settings(encoder: CorpusEncoder) -> dict[str, Any]:
    """Return the settings that, together with the corpus, determine the removed terms."""
    config = encoder.config
    return {
        "gamma": config.corpus_gamma,
        "few": config.corpus_few,
        "encoder": encoder.expansion_only().fingerprint,
    }
