"""Read vectors for engines whose queries are encoded by a tokenizer, and check their terms."""

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

    Raises `ArtifactError` at a term that is not in the vocabulary of the tokenizer, unless terms
    are words: ``side`` is the query side of the index.
    """
    if side.kind == WORDS:
        yield from postings.all_vectors()
        return
    for vector in postings.all_vectors():
        if unknown := vector.impacts.keys() - wordpieces.term_ids.keys():
            message = f"the term {min(unknown)!r} of the document {vector.docid!r} is not in the"
            cure = "give tokenizer=PATH of the index's model"
            raise ArtifactError(f"{message} vocabulary of the tokenizer; {cure}")
        yield vector
