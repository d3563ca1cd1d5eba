"""For those who search with Pyserini's own `LuceneImpactSearcher`.

    from spade_pyserini.search.query_encoder import BooleanQueryEncoder
    from pyserini.search.lucene import LuceneImpactSearcher

    encoder = BooleanQueryEncoder("spade-mini")
    searcher = LuceneImpactSearcher("index/pydoc.spade", encoder, min_idf=-1)

``min_idf=-1`` keeps terms that are in every document, which Pyserini would leave out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spade_pyserini.lucene import jvm
from spade_pyserini.models.wordpieces import WordPieces, resolve_tokenizer

jvm.start()  # before pyserini does it in its own way

from pyserini.encode import QueryEncoder  # noqa: E402


class BooleanQueryEncoder(QueryEncoder):  # type: ignore[misc]
    """Each WordPiece of a query once, with the weight 1.

    ``tokenizer`` is a ``tokenizer.json``, or a model by its folder or name.
    """

    def __init__(self, tokenizer: str | Path) -> None:
        super().__init__()
        self.wordpieces = WordPieces.load(resolve_tokenizer(tokenizer))

    def encode(self, query: str, **_: Any) -> dict[str, int]:
        return dict.fromkeys(self.wordpieces.query_terms(query), 1)
