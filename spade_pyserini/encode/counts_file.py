"""How rare a corpus's terms are: counted before it is encoded, and kept beside its vectors.

::

    encode/pydoc.spade.counts.json      documents, and how many of them have each WordPiece

An encoding that goes on, and others of the same corpus on other machines, take what is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import torch

from spade_pyserini.corpora import Corpus
from spade_pyserini.corpora.checks import OnError, strict
from spade_pyserini.encode.part import parts_of
from spade_pyserini.errors import ArtifactError, NotFoundError, SpadeError, UsageError
from spade_pyserini.formats.files import atomic_write, read_sealed, sha256, sibling, write_sealed
from spade_pyserini.formats.vectors import VectorManifest
from spade_pyserini.models import SpadeEncoder
from spade_pyserini.models.term_counts import TermCounts, count_terms
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.progress import Progress

FORMAT = "spade_pyserini.counts/1"


def counts_path(folder: Path) -> Path:
    """``encode/X`` gives ``encode/X.counts.json``."""
    return sibling(folder, "counts.json")


def read_corpus(
    corpus: Corpus,
    model: SpadeEncoder,
    folder: Path,
    *,
    known: str | None,
    on_error: OnError,
    progress: str,
) -> tuple[str | None, SpadeEncoder]:
    """Return the digest of the corpus's counts, None if not needed, and an encoder with them.

    ``known`` is the digest of the counts to go on with, if they are still there.
    """
    if not model.needs_counts:
        return None, model
    path, words = counts_path(folder), model.wordpieces
    if not path.exists() or sha256(path) != known:
        counted = count_corpus(corpus, model, on_error, progress)
        save_counts(counted, words, path, corpus.name, model.config.max_length)
    return sha256(path), model.for_corpus(load_counts(path, words))


def counts_of(corpus: Corpus, model: SpadeEncoder, folder: Path, overwrite: bool) -> str | None:
    """The digest of what another part has counted in the same corpus, if it has.

    With ``overwrite`` it must be at work still: since a finished one, the corpus may have changed.
    """
    path = counts_path(folder)
    try:
        values = read_sealed(path, FORMAT)
    except SpadeError:
        return None  # none, or none that is whole: they are counted again
    asked = (corpus.name, model.wordpieces.fingerprint, model.config.max_length)
    found = (values["corpus"], values["tokenizer_fingerprint"], values.get("max_length"))
    digest = sha256(path)
    return digest if found == asked and digest in _in_use(folder, overwrite) else None


def _in_use(folder: Path, unfinished: bool) -> Iterator[str | None]:
    """The digests that parts were begun with, all of them or those that are unfinished."""
    for part in parts_of(folder):
        with suppress(SpadeError):  # one that is damaged says nothing
            manifest = VectorManifest.load(folder, part.manifest)
            if not (unfinished and manifest.complete):
                yield manifest.settings.counts_sha256


def check_counts_file(source: Path, model: SpadeEncoder) -> str:
    """The digest of what was counted in another corpus, if the model can use it."""
    if not model.needs_counts:
        raise UsageError("the model does not ask how rare terms are; leave --counts out")
    if not source.is_file():
        raise NotFoundError(f"{source}: no such file; it is beside the vectors of a corpus")
    load_counts(source, model.wordpieces)
    return sha256(source)


def copy_counts(source: Path, folder: Path) -> None:
    """Keep what was counted in another corpus beside these vectors."""
    if source != counts_path(folder):
        with atomic_write(counts_path(folder)) as stream:
            stream.write(source.read_bytes())


def count_corpus(
    corpus: Corpus, model: SpadeEncoder, on_error: OnError = strict, progress: str = "bar"
) -> TermCounts:
    """Count all documents, as far as the model reads them."""
    with closing(Progress(progress, task="counting terms")) as bar:

        def texts() -> Iterator[str]:
            for document in corpus.documents(on_error):
                yield document.contents
                bar(1, 0)

        words = model.wordpieces
        return count_terms(words, texts(), words.vocabulary_size, model.config.max_length)


def save_counts(
    counts: TermCounts, wordpieces: WordPieces, path: Path, corpus: str, max_length: int
) -> None:
    """Only the terms that occur, in the order of the vocabulary."""
    found = counts.df.nonzero().flatten().tolist()
    values = {
        "format": FORMAT,
        "corpus": corpus,
        "tokenizer_fingerprint": wordpieces.fingerprint,
        "max_length": max_length,
        "documents": counts.documents,
        "length": counts.length,
        "terms": {wordpieces.terms[place]: int(counts.df[place]) for place in found},
    }
    write_sealed(path, values)


def load_counts(path: Path, wordpieces: WordPieces) -> TermCounts:
    """What `save_counts` wrote, for the same WordPieces."""
    values = read_sealed(path, FORMAT)
    if values["tokenizer_fingerprint"] != wordpieces.fingerprint:
        message = "counted in other WordPieces than the model's"
        raise ArtifactError(f"{path}: {message}; encode with the model that it was counted for")
    df = torch.zeros(wordpieces.vocabulary_size, dtype=torch.long)
    for term, number in values["terms"].items():
        df[wordpieces.term_ids[term]] = number
    return TermCounts(df, values["documents"], values["length"])
