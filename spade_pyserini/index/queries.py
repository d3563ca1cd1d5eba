"""The encoder of the queries of an index, as its manifest says."""

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
"""Makes the encoder of queries for an index with this tokenizer."""


def index_queries(
    folder: Path,
    manifest: IndexManifest,
    wordpieces: WordPieces,
    make_queries: MakeQueries | None = None,
) -> QueryEncoder:
    """Return the encoder of the queries of the index in ``folder``.

    If ``make_queries`` is given, its encoder is used and compared with the manifest. An index of
    vectors of another tool does not say which queries it needs, so any are accepted.
    """
    if make_queries is not None:
        queries = make_queries(wordpieces)
        check_vocabulary(queries, wordpieces, folder)
        if manifest.encoder is not None:
            check_queries(manifest.query, queries, folder)
        return queries
    weights = load_weights(folder, manifest.query)
    return open_queries(manifest.query, wordpieces, weights, folder)
