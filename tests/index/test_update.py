"""Add, replace and delete documents."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from spade_pyserini import (
    ImpactSearcher,
    SpadeModel,
    build_impact_index,
    encode_corpus,
    open_corpus,
    read_vectors,
)
from spade_pyserini.analysis.stats import index_stats
from spade_pyserini.errors import ArtifactError, NotFoundError, OutputExistsError
from spade_pyserini.formats.index_manifest import IndexManifest
from spade_pyserini.index import (
    IndexOptions,
    add_documents,
    build_foreign_index,
    delete_documents,
    update,
    verify_index,
)
from spade_pyserini.index.postings import Postings
from tests.commands import Commands, copy_artifact
from tests.conftest import write_corpus
from tests.index.conftest import GOOD, write_foreign

pytestmark = pytest.mark.java


@pytest.mark.parametrize("command", ["add", "delete"])
def test_a_change_that_lucene_cannot_write(
    tiny_index: Path,
    added_vectors: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    """The failure is simulated: the copy of the index that Lucene changes has no files."""
    index = copy_artifact(tiny_index, tmp_path / "index")
    monkeypatch.setattr(update, "_link_or_copy", lambda *_: None)
    with pytest.raises(ArtifactError, match=r"Lucene cannot write this index .*; check that"):
        add_documents(added_vectors, index) if command == "add" else delete_documents(index, ["d1"])
    assert verify_index(index).documents == 30


def test_documents_are_added_to_an_index_of_anserinis(
    tiny_vectors: Path, added_vectors: Path, tmp_path: Path
) -> None:
    build_impact_index(tiny_vectors, tmp_path / "x", IndexOptions(builder="anserini"))
    manifest = add_documents(added_vectors, tmp_path / "x")
    assert verify_index(tmp_path / "x") == manifest and manifest.documents == 40
    with ImpactSearcher(tmp_path / "x") as searcher:
        for vector in (*read_vectors(added_vectors), next(iter(read_vectors(tiny_vectors)))):
            assert searcher.doc(vector.docid)


def test_documents_are_added_and_replaced(
    tiny_index: Path,
    tiny_vectors: Path,
    added_vectors: Path,
    tmp_path: Path,
    run: Commands,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = copy_artifact(tiny_index, tmp_path / "index")
    before = sorted(path.name for path in tiny_index.iterdir())
    batches: list[int] = []
    real = Postings.vectors

    def counted(self: Postings, docids: list[str]) -> list[dict[str, int] | None]:
        batches.append(len(docids))
        return real(self, docids)

    with monkeypatch.context() as patch:
        patch.setattr(update, "BATCH", 7)
        patch.setattr(Postings, "vectors", counted)
        manifest = add_documents(added_vectors, index, threads=2)
    assert batches == [7, 7, 6]  # at most 7 vectors are in memory at once
    expected = {vector.docid: vector.impacts for vector in read_vectors(tiny_vectors)}
    expected |= {vector.docid: vector.impacts for vector in read_vectors(added_vectors)}
    assert manifest.documents == 40 == len(expected)
    assert manifest.postings == sum(map(len, expected.values()))
    with ImpactSearcher(index) as searcher:
        assert {docid: searcher.doc(docid) for docid in expected} == expected
        assert len(searcher.search("the cat fish", 100)) > 10
    assert verify_index(index) == manifest
    with monkeypatch.context() as patch:
        patch.setattr(update, "Postings", None)
        assert (
            add_documents(added_vectors, index) == manifest
        )  # already applied, so nothing is read
    assert index_stats(index)["postings"] == manifest.postings
    assert sorted(path.name for path in tiny_index.iterdir()) == before
    with pytest.raises(OutputExistsError, match="were added to or deleted from"):
        build_impact_index(tiny_vectors, index)
    assert run("index", "--input", added_vectors, "--add", "--output", index).code == 0
    assert run("index", "--input", added_vectors, "--add").code == 2
    assert run("index", "--verify", "--input", added_vectors, "--output", index).code == 0
    result = run("index", "--verify", "--input", tiny_vectors, "--output", index)
    assert result.code == 1 and "was not the last addition" in result.err


def test_documents_are_deleted(
    tiny_index: Path, tiny_vectors: Path, tmp_path: Path, run: Commands
) -> None:
    index = copy_artifact(tiny_index, tmp_path)
    manifest = delete_documents(index, ["d3", "d4", "d3"])
    assert manifest.documents == 28
    vectors = {vector.docid: vector.impacts for vector in read_vectors(tiny_vectors)}
    assert manifest.postings == sum(
        len(impacts) for docid, impacts in vectors.items() if docid not in ("d3", "d4")
    )
    with ImpactSearcher(index) as searcher:
        assert searcher.doc("d3") is None and searcher.doc("d5") == vectors["d5"]
        hits = {hit.docid for hit in searcher.search("the cat dog bird fish", 100)}
        assert not hits & {"d3", "d4"}
    assert verify_index(index, tiny_vectors) == manifest  # compares the remaining documents
    assert delete_documents(index, ["d4", "d3"]) == manifest
    with pytest.raises(NotFoundError, match="has no document 'd3'; nothing was deleted"):
        delete_documents(index, ["d3", "d5"])
    with pytest.raises(NotFoundError, match="has no document"):
        # Python turns a byte of the command line that is not UTF-8 into a lone surrogate.
        delete_documents(index, ["d5", "\udcff"])
    assert run("index", "--delete", "d5", "d6", "--output", index).code == 0
    assert IndexManifest.load(index).documents == 26


def test_vectors_made_in_another_way_are_refused(
    tiny_index: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    index = copy_artifact(tiny_index, tmp_path / "index")
    source = write_corpus(tmp_path / "corpus", 3)
    other = tiny_model.with_settings(k=tiny_model.config.k + 1)
    encode_corpus(open_corpus(str(source)), other, tmp_path / "vectors")
    with pytest.raises(ArtifactError, match="encoded with another model or other settings"):
        add_documents(tmp_path / "vectors", index)
    assert verify_index(index).documents == 30


def test_an_empty_document_is_counted_once(
    tiny_vectors: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    build_impact_index(tiny_vectors, tmp_path / "x")
    for number, (text, empty) in enumerate((("", 1), ("\u4e2d", 1), ("old cat", 0))):
        source = tmp_path / f"{number}.jsonl"
        source.write_text(json.dumps({"id": "e", "contents": text}))
        encode_corpus(open_corpus(str(source)), tiny_model, tmp_path / f"v{number}")
        manifest = add_documents(tmp_path / f"v{number}", tmp_path / "x")
        assert (manifest.empty_documents, len(manifest.empty)) == (empty, empty)
        assert manifest.documents == 31 - empty


def test_an_index_of_foreign_vectors_accepts_no_new_documents(
    added_vectors: Path, tmp_path: Path
) -> None:
    build_foreign_index(write_foreign(tmp_path / "v", GOOD), tmp_path / "x")
    with pytest.raises(
        ArtifactError, match=r"vectors of another tool.*; build it again from all vectors"
    ):
        add_documents(added_vectors, tmp_path / "x")


def test_a_change_where_files_cannot_be_linked(
    tiny_index: Path, added_vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_link(*_: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", no_link)
    index = copy_artifact(tiny_index, tmp_path / "index")
    changed = add_documents(added_vectors, index)
    assert verify_index(index) == changed
