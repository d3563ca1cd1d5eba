"""Query encoders that the user must name, because an index does not contain them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

from spade_pyserini.models.queries import PreEncodedQueries

if TYPE_CHECKING:
    from spade_pyserini.index.queries import MakeQueries
    from spade_pyserini.models.queries import QueryEncoder
    from spade_pyserini.models.wordpieces import WordPieces


def neural_queries(name: str) -> MakeQueries:
    """Return a function for `ImpactSearcher` that loads the query encoder of a model.

    ``name`` is the folder or name of the model. The model is loaded, with torch, when an index is
    opened.
    """

    @cache
    def load() -> QueryEncoder:
        from spade_pyserini.models.systems.loading import load_queries

        return load_queries(name)

    def make(wordpieces: WordPieces) -> QueryEncoder:
        return load()

    return make


def pre_encoded_queries(vectors: Mapping[str, dict[str, int]]) -> MakeQueries:
    """Return a function for `ImpactSearcher` that looks up encoded queries.

    ``vectors`` maps query ids to encoded queries. To search with one of them, give its id as the
    text of the query.
    """
    return partial(PreEncodedQueries, vectors=vectors)
