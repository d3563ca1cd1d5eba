"""Search a BM25 index."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spade_pyserini import Bm25Searcher, ImpactSearcher, build_bm25_index, open_corpus
from spade_pyserini.errors import ArtifactError, UsageError
from spade_pyserini.records import Topic
from spade_pyserini.search import open_searcher

pytestmark = pytest.mark.java


def test_bm25_finds_words_and_not_impacts(tiny_corpus: Path, tmp_path: Path) -> None:
    build_bm25_index(open_corpus(str(tiny_corpus)), tmp_path / "bm25")
    with Bm25Searcher(tmp_path / "bm25") as searcher:
        docids = {hit.docid for hit in searcher.search("river", 30)}
    words = {doc.docid for doc in open_corpus(str(tiny_corpus)) if "river" in doc.contents.split()}
    assert docids == words
    with pytest.raises(ArtifactError, match="bm25 index"):
        ImpactSearcher(tmp_path / "bm25")
    with pytest.raises(UsageError, match="leave out the tokenizer"):
        open_searcher(tmp_path / "bm25", tokenizer="x")
    for k1, b in ((float("nan"), 0.4), (0.9, 7), (-1, 0.4)):
        with pytest.raises(UsageError, match="k1 of 0 or more and b from 0 to 1"):
            Bm25Searcher(tmp_path / "bm25", k1, b)


def test_a_query_of_thousands_of_terms(tmp_path: Path) -> None:
    words = [f"word{number}" for number in range(3000)]
    (tmp_path / "c.jsonl").write_text(json.dumps({"id": "d", "contents": " ".join(words)}))
    build_bm25_index(open_corpus(str(tmp_path / "c.jsonl")), tmp_path / "bm25")
    with Bm25Searcher(tmp_path / "bm25") as searcher:
        assert [hit.docid for hit in searcher.search(" ".join(words))] == ["d"]


def test_one_query_has_the_hits_and_weights_of_anserini(tiny_corpus: Path, tmp_path: Path) -> None:
    build_bm25_index(open_corpus(str(tiny_corpus)), tmp_path / "bm25")
    query = "the old cat, cats and rivers"
    with Bm25Searcher(tmp_path / "bm25", 1.2, 0.75) as searcher:
        one = searcher.search(query, 30)
        batch = searcher.batch_search([Topic("1", query), Topic("2", "dog")], 30)
        ours = [searcher.matched_terms(query, hit.docid) for hit in one]
        searcher._has_spade_jar = False  # as in a JVM that pyserini started
        assert searcher.search(query, 30) == one == batch[0].hits
        for hit, weights in zip(one, ours, strict=True):
            assert searcher.matched_terms(query, hit.docid) == weights
            assert sum(weights.values()) == pytest.approx(hit.score, rel=1e-3)
    assert one
