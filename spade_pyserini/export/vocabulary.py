"""Read the vectors of an index, and check that the vocabulary of the tokenizer has their terms."""

from __future__ import annotations

from collections.abc import Iterator

from spade_pyserini.errors import ArtifactError
from spade_pyserini.formats.query_side import BOOLEAN, WORDS, QuerySide
from spade_pyserini.index.postings import Postings
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.records import ImpactVector


def vectors_in_vocabulary(
    postings: Postings, wordpieces: WordPieces, side: QuerySide = BOOLEAN
) -> Iterator[ImpactVector]:
    """Yield every vector of an index.

    ``side`` describes how the queries of the index are encoded. Raises `ArtifactError` at a term
    that is not in the vocabulary of the tokenizer, unless the terms of the index are words.
    """
    if side.kind == WORDS:
        yield from postings.all_vectors()
        return
    for vector in postings.all_vectors():
        if unknown := vector.impacts.keys() - wordpieces.term_ids.keys():
            message = f"the term {min(unknown)!r} of the document {vector.docid!r} is not in the"
            cure = "give the tokenizer of the index's model with tokenizer=PATH"
            raise ArtifactError(f"{message} vocabulary of the tokenizer; {cure}")
        yield vector
