"""Vectors for engines that are asked by a tokenizer: it has to be the one of the index."""

from __future__ import annotations

from collections.abc import Iterator

from spade_pyserini.errors import ArtifactError
from spade_pyserini.index.postings import Postings
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.records import ImpactVector


def known_vectors(postings: Postings, wordpieces: WordPieces) -> Iterator[ImpactVector]:
    """Every vector of an index; a term that the tokenizer does not know is an `ArtifactError`."""
    for vector in postings.all_vectors():
        if unknown := vector.impacts.keys() - wordpieces.term_ids.keys():
            message = f"the term {min(unknown)!r} of the document {vector.docid!r} is no WordPiece"
            raise ArtifactError(f"{message} of this tokenizer; name the one of the index")
        yield vector
