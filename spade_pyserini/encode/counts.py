"""How rare a corpus's terms are: counted before it is encoded, and kept beside its vectors.

::

    encode/pydoc.spade.counts.json      documents, and how many of them have each WordPiece

An encoding that goes on, and others of the same corpus on other machines, take what is there.
"""

from __future__ import annotations

from pathlib import Path

import torch
from tqdm import tqdm

from spade_pyserini.corpora import Corpus
from spade_pyserini.corpora.checks import Tolerance
from spade_pyserini.errors import ArtifactError, NotFoundError, SpadeError, UsageError
from spade_pyserini.files import atomic_write, beside, read_sealed, sha256, write_sealed
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.counts import TermCounts, count_terms
from spade_pyserini.wordpiece import WordPieces

FORMAT = "spade_pyserini.counts/1"


def counts_path(folder: Path) -> Path:
    """``encode/X`` gives ``encode/X.counts.json``."""
    return beside(folder, "counts.json")


def read_corpus(
    corpus: Corpus, model: SpadeModel, folder: Path, *, known: str | None, max_errors: int
) -> str | None:
    """Fit the model to the corpus; returns the digest of its counts, None if it needs none.

    ``known`` is the digest of the counts to go on with, if they are still there.
    """
    if not model.config.corpus_idf:
        return None
    path, words = counts_path(folder), model.wordpieces
    if not path.exists() or sha256(path) != known:
        counted = count_corpus(corpus, model, max_errors)
        save_counts(counted, words, path, corpus.name, model.config.max_length)
    model.read_corpus(load_counts(path, words))
    return sha256(path)


def counts_of(corpus: Corpus, model: SpadeModel, folder: Path) -> str | None:
    """The digest of what another machine has counted in the same corpus, if it has."""
    path = counts_path(folder)
    try:
        values = read_sealed(path, FORMAT)
    except SpadeError:
        return None  # none, or none that is whole: they are counted again
    asked = (corpus.name, model.wordpieces.fingerprint, model.config.max_length)
    found = (values["corpus"], values["tokenizer_fingerprint"], values.get("max_length"))
    return sha256(path) if found == asked else None


def check_counts(source: Path, model: SpadeModel) -> str:
    """The digest of what was counted in another corpus, if the model can use it."""
    if not model.config.corpus_idf:
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


def count_corpus(corpus: Corpus, model: SpadeModel, max_errors: int = 0) -> TermCounts:
    """Count all documents, as far as the model reads them."""
    documents = corpus.documents(Tolerance(max_errors))
    bar = tqdm(documents, desc="counting terms", unit=" documents", disable=None)
    texts = (document.contents for document in bar)
    return count_terms(model.wordpieces, texts, len(model.kept), model.config.max_length)


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
        df[wordpieces.places[term]] = number
    return TermCounts(df, values["documents"], values["length"])
