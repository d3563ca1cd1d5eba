"""Fixtures and helpers of the tests of exports."""

from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini import read_vectors
from spade_pyserini.index import build_foreign_index
from spade_pyserini.records import Hit

QUERIES = ["cat", "the old dog", "fish and bird and fish", "the the cat", ""]


@pytest.fixture(scope="module")
def wanted(tiny_vectors: Path) -> dict[str, dict[str, int]]:
    """The vectors of the index, by docid."""
    return {vector.docid: vector.impacts for vector in read_vectors(tiny_vectors)}


def same_hits(ours: list[Hit], theirs: list[Hit], k: int) -> None:
    """Check that scores and documents are equal, except documents that tie with the last hit."""
    assert [hit.score for hit in theirs] == [hit.score for hit in ours]
    last = ours[-1].score if len(ours) == k else 0
    assert {hit for hit in theirs if hit.score > last} == {hit for hit in ours if hit.score > last}


@pytest.fixture
def index_without_tokenizer(tmp_path: Path) -> Path:
    """An index that was built without a tokenizer."""
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "a.jsonl").write_text('{"id": "a", "vector": {"cat": 3, "zebra": 2}}')
    build_foreign_index(tmp_path / "v", tmp_path / "index")
    return tmp_path / "index"
