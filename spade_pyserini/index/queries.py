"""Open the query encoder that the manifest of an index describes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from spade_pyserini.formats.index_manifest import IndexManifest
from spade_pyserini.formats.query_side import load_weights
from spade_pyserini.models.queries import (
    QueryEncoder,
    check_queries,
    check_vocabulary,
    open_queries,
)
from spade_pyserini.models.wordpieces import WordPieces

MakeQueries = Callable[[WordPieces], QueryEncoder]
"""A function that returns the query encoder for an index with the given tokenizer."""


def index_queries(
    folder: Path,
    manifest: IndexManifest,
    wordpieces: WordPieces,
    make_queries: MakeQueries | None = None,
) -> QueryEncoder:
    """Return the query encoder for the index in ``folder``.

    If ``make_queries`` is given, its encoder is used; an encoder that does not fit the manifest is
    an error. If another tool encoded the vectors, the manifest does not describe queries, and
    any encoder with the same vocabulary is accepted.
    """
    if make_queries is not None:
        queries = make_queries(wordpieces)
        check_vocabulary(queries, wordpieces, folder)
        if manifest.encoder is not None:
            check_queries(manifest.query, queries, folder)
        return queries
    weights = load_weights(folder, manifest.query)
    return open_queries(manifest.query, wordpieces, weights, folder)
