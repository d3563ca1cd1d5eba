"""The texts of an index are read from the corpora that its manifest records."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from spade_pyserini import SpadeModel, build_impact_index, encode_corpus, open_corpus
from spade_pyserini.corpora import Segmentation, segmented
from spade_pyserini.errors import NotFoundError
from spade_pyserini.formats.index_manifest import IndexManifest
from spade_pyserini.formats.vector_manifest import VectorManifest
from spade_pyserini.index import add_documents
from spade_pyserini.search.texts import AUTOMATIC, Texts, TextStream, open_texts
from tests.commands import Commands
from tests.conftest import write_corpus


def test_manifests_remember_the_corpus(
    tiny_corpus: Path, tiny_vectors: Path, tiny_index: Path
) -> None:
    expected = {"corpus": str(tiny_corpus)}
    assert VectorManifest.load(tiny_vectors).source == expected
    manifest = IndexManifest.load(tiny_index)
    assert manifest.sources == [expected]
    for keep in (False, True):
        texts = open_texts(manifest, keep=keep)
        found = texts.find(["d3", "d29", "nowhere"])
        assert found == {d.docid: d for d in open_corpus(str(tiny_corpus)) if d.docid in found}
        assert found.keys() == {"d3", "d29"}


def test_a_relative_path_is_found_from_other_folders(
    tiny_model: SpadeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_corpus(tmp_path / "here" / "texts", 3)
    monkeypatch.chdir(tmp_path / "here")
    passages = segmented(open_corpus("texts"), Segmentation(4, 2))
    manifest = encode_corpus(passages, tiny_model, "encode/texts")
    assert manifest.source == {"corpus": str(tmp_path / "here" / "texts"), "segment": "4:2"}
    index = tmp_path / "here" / "index" / "texts"
    build_impact_index(Path("encode/texts").absolute(), index)
    monkeypatch.chdir(tmp_path)
    texts = open_texts(IndexManifest.load(index))
    (passage,) = texts.find(["d1#1"]).values()
    assert len(passage.text.split()) == 4


def test_a_complete_encoding_keeps_its_manifest(tiny_model: SpadeModel, tmp_path: Path) -> None:
    corpus = open_corpus(str(write_corpus(tmp_path / "texts", 3)))
    manifest = encode_corpus(corpus, tiny_model, tmp_path / "v")
    replace(manifest, source={}).save(tmp_path / "v")  # as an earlier version wrote it
    path = tmp_path / "v.manifest.json"
    before = path.read_bytes()
    assert b'"source"' not in before
    assert encode_corpus(corpus, tiny_model, tmp_path / "v").source == {}
    assert path.read_bytes() == before


def test_added_documents_have_their_own_corpus(tiny_model: SpadeModel, tmp_path: Path) -> None:
    first = open_corpus(str(write_corpus(tmp_path / "first", 3)))
    (tmp_path / "second.jsonl").write_text('{"id": "d1", "contents": "a new cat"}\n')
    encode_corpus(first, tiny_model, tmp_path / "v1")
    encode_corpus(open_corpus(str(tmp_path / "second.jsonl")), tiny_model, tmp_path / "v2")
    build_impact_index(tmp_path / "v1", tmp_path / "x")
    manifest = add_documents(tmp_path / "v2", tmp_path / "x")
    for keep in (False, True):
        found = open_texts(manifest, keep=keep).find(["d1", "d2"])
        assert found["d1"].text == "a new cat"
        assert found.keys() == {"d1", "d2"}


def test_texts_that_cannot_be_read(tiny_index: Path, tmp_path: Path) -> None:
    manifest = IndexManifest.load(tiny_index)
    gone = replace(manifest, sources=[{"corpus": str(tmp_path / "gone")}])
    with pytest.raises(NotFoundError, match="gone: the corpus of this index is no longer there"):
        open_texts(gone)
    with pytest.raises(NotFoundError, match="does not say which corpus"):
        open_texts(replace(manifest, sources=[]))
    with pytest.raises(NotFoundError, match="takes long"):
        open_texts(replace(manifest, documents=AUTOMATIC + 1))
    assert open_texts(replace(gone, corpus="pydoc")).find([]) == {}  # opened by name


def test_a_collection_that_moved_is_found_in_the_data_directory(
    tiny_index: Path, tiny_corpus: Path, tmp_path: Path
) -> None:
    shutil.copytree(tiny_corpus, tmp_path / "scifact")
    gone = [{"corpus": str(tmp_path / "gone")}]
    manifest = replace(IndexManifest.load(tiny_index), corpus="scifact", sources=gone)
    assert open_texts(manifest, data_dir=tmp_path).find(["d3"]).keys() == {"d3"}


def test_bad_documents_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "texts.jsonl").write_text('{"id": "a"}\n{"id": "b", "contents": "cat"}\n')
    assert Texts([open_corpus(str(tmp_path / "texts.jsonl"))]).find(["a", "b"]).keys() == {"b"}


@pytest.mark.java
def test_the_chosen_columns_are_remembered(
    tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    (tmp_path / "animals.csv").write_text("code,kind,notes\na1,pet,the old cat\nb2,wild,a bird\n")
    fields = ("--id-field", "code", "--title-field", "kind", "--text-fields", "notes")
    corpus = ("--corpus", tmp_path / "animals.csv", *fields)
    vectors, index = tmp_path / "vectors", tmp_path / "index"
    encoded = run("encode", *corpus, "--model", tiny_model_folder, "--output", vectors)
    assert encoded.code == 0, encoded.err
    assert run("index", "--input", vectors, "--output", index).code == 0
    answer = run("search", "--index", index, "--query", "cat", "--json")
    assert answer.code == 0, answer.err
    texts = {hit["docid"]: hit["snippet"]["text"] for hit in json.loads(answer.out)["hits"]}
    assert texts["a1"] == "the old cat"


def test_a_stream_finds_documents_in_any_order_and_reads_the_corpus_once(tmp_path: Path) -> None:
    corpus = open_corpus(str(write_corpus(tmp_path / "texts", 9)))
    (tmp_path / "new.jsonl").write_text('{"id": "d7", "contents": "a new cat"}\n')
    docids = [f"d{number}" for number in (4, 8, 0, 7, 5)]
    stream = TextStream([open_corpus(str(tmp_path / "new.jsonl")), corpus], [*docids, "gone"])
    assert [*stream.find(["d4", "d8"])] == ["d4", "d8"]
    last = stream.find(["d0", "gone", "d7", "d5"])
    assert [*last] == ["d0", "d7", "d5"] and last["d7"].text == "a new cat"
    assert stream.find(["d1"]) == {}
