"""A query encoder for Pyserini's own `LuceneImpactSearcher`.

    from spade_pyserini.search.query_encoder import BooleanQueryEncoder
    from pyserini.search.lucene import LuceneImpactSearcher

    encoder = BooleanQueryEncoder("spade-mini")
    searcher = LuceneImpactSearcher("index/pydoc.spade-mini", encoder, min_idf=-1)

With ``min_idf=-1``, Pyserini keeps query terms that occur in every document. By default, Pyserini
drops these terms.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spade_pyserini.lucene.pyserini_import import prepare_pyserini
from spade_pyserini.models.wordpieces import WordPieces, resolve_tokenizer

prepare_pyserini()

from pyserini.encode import QueryEncoder  # noqa: E402


class BooleanQueryEncoder(QueryEncoder):  # type: ignore[misc]
    """Encodes a query as its distinct WordPieces, each with weight 1.

    ``tokenizer`` is a ``tokenizer.json``, or the folder or name of a model.
    """

    def __init__(self, tokenizer: str | Path) -> None:
        super().__init__()
        self.wordpieces = WordPieces.load(resolve_tokenizer(tokenizer))

    def encode(self, query: str, **_: Any) -> dict[str, int]:
        """Return the weight of each term of ``query``."""
        return dict.fromkeys(self.wordpieces.query_terms(query), 1)
