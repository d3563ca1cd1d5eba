"""The query encoder for Pyserini's searcher."""

from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini import ImpactSearcher

pytestmark = pytest.mark.java

QUERIES = ["cat", "the old dog", "fish and bird and fish", "the the cat", ""]


def test_a_query_encoder_for_pyserini(tiny_index: Path) -> None:
    from spade_pyserini.search.query_encoder import BooleanQueryEncoder

    tokenizer = tiny_index.with_name(f"{tiny_index.name}.tokenizer.json")
    encoder = BooleanQueryEncoder(tokenizer)
    assert encoder.encode("the cat the") == {"the": 1, "cat": 1}
    from pyserini.search.lucene import LuceneImpactSearcher

    theirs = LuceneImpactSearcher(str(tiny_index), encoder, min_idf=-1)
    with ImpactSearcher(tiny_index) as searcher:
        for text in QUERIES[:4]:
            ours = [(hit.docid, hit.score) for hit in searcher.search(text, 10)]
            assert [(hit.docid, round(hit.score)) for hit in theirs.search(text, 10)] == ours
