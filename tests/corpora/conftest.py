"""A small collection that the tests of corpora share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import write_corpus


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory with a small collection called scifact in BEIR format."""
    path = write_corpus(tmp_path / "data" / "scifact", 5)
    queries = [{"_id": "q1", "text": "old cat"}, {"_id": "q2", "text": "not judged"}]
    (path / "queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in queries))
    (path / "qrels").mkdir()
    (path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    monkeypatch.setenv("SPADE_DATA_DIR", str(tmp_path / "data"))
    return path
