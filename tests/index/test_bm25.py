"""Build a BM25 index."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spade_pyserini import build_bm25_index, open_corpus
from spade_pyserini.formats.index_manifest import IndexManifest
from tests.commands import Commands

pytestmark = pytest.mark.java


def test_empty_documents_are_counted_not_missed(tmp_path: Path, run: Commands) -> None:
    path = tmp_path / "corpus.jsonl"
    texts = {"a": "some cats", "b": " ", "c": "\0\1"}
    documents = [{"id": docid, "contents": text} for docid, text in texts.items()]
    path.write_text("\n".join(map(json.dumps, documents)))
    result = run("index", "--bm25", "--corpus", path, "--output", tmp_path / "x")
    assert result.code == 0
    assert "2 documents are empty" in result.err
    manifest = IndexManifest.load(tmp_path / "x")
    assert (manifest.documents, manifest.empty_documents) == (1, 2)


def test_a_document_that_anserini_would_leave_out(tmp_path: Path, run: Commands) -> None:
    """Anserini's JSON parser accepts texts of at most 20 million characters."""
    path = tmp_path / "corpus.jsonl"
    path.write_text(json.dumps({"id": "a", "contents": "old cat " * 2_500_001}))
    flags = ("index", "--bm25", "--corpus", path, "--output", tmp_path / "x")
    result = run(*flags)
    assert result.code == 1 and "'a' has 20,000,007 characters, and Anserini reads" in result.err
    assert "divide it into passages with --segment WORDS:STRIDE" in result.err
    path.write_text(json.dumps({"id": "a", "contents": "old cat " * 2_499_999 + "old cats"}))
    assert run(*flags).code == 0


def test_a_bm25_index_of_the_same_corpus(tiny_corpus: Path, tmp_path: Path) -> None:
    manifest = build_bm25_index(open_corpus(str(tiny_corpus)), tmp_path / "x")
    assert (manifest.kind, manifest.documents) == ("bm25", 30)
    assert not list(tmp_path.glob(".*.tmp")), "the input for Anserini is left"
