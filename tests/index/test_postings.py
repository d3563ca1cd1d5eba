"""Read the vectors and the statistics of an index."""

from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini import build_impact_index, read_vectors
from spade_pyserini.index import IndexOptions, delete_documents, direct
from spade_pyserini.index.direct import write_index
from spade_pyserini.index.postings import Postings

pytestmark = pytest.mark.java


def test_all_vectors_come_in_batches(
    tiny_vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents are read by number, not by id, so that an export reads each of them once."""
    monkeypatch.setattr(direct, "BUFFER_MEGABYTES", 0.0005)
    build_impact_index(tiny_vectors, tmp_path / "x", IndexOptions(threads=2))
    delete_documents(tmp_path / "x", ["d0", "d11", "d29"])
    expected = {vector.docid: vector for vector in read_vectors(tiny_vectors)}
    with Postings(tmp_path / "x") as postings:
        docids = postings.documents()
        assert len(docids) == 27
        monkeypatch.setattr(Postings, "vectors", None)
        for batch in (1, 4, 27, 1000):
            assert list(postings.all_vectors(batch)) == [expected[docid] for docid in docids]


def test_large_impacts_are_counted_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text('{"id": "x", "vector": {"cat": 70000, "dog": 2}}\n')
    write_index([tmp_path / "docs.jsonl"], tmp_path / "x", threads=1, total=1)
    with Postings(tmp_path / "x") as postings:
        assert postings.statistics().impacts == {2: 1, 70_000: 1}
