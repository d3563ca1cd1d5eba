"""Encoding a corpus: the contents of vectors and manifest, and wrong arguments."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from spade_pyserini import (
    SpadeModel,
    encode_corpus,
    open_corpus,
    read_vectors,
)
from spade_pyserini.formats.vector_manifest import VectorManifest
from spade_pyserini.formats.vectors import verify
from spade_pyserini.models import SpadeEncoder
from tests.commands import Commands


def test_the_manifest_describes_the_vectors(tiny_vectors: Path, tiny_model: SpadeModel) -> None:
    manifest = verify(tiny_vectors)
    assert [shard.file for shard in manifest.shards] == [f"docs000{i}.jsonl.gz" for i in range(3)]
    assert [shard.documents for shard in manifest.shards] == [12, 12, 6]
    vectors = list(read_vectors(tiny_vectors))
    assert manifest.documents == len(vectors) == 30
    assert manifest.terms == sum(len(vector.impacts) for vector in vectors)
    assert manifest.impacts == sum(sum(vector.impacts.values()) for vector in vectors)
    settings = manifest.settings
    assert (settings.alpha, settings.k, settings.bits, settings.scale) == (0.5, 3, 8, 40.0)
    assert settings.model_fingerprint == tiny_model.fingerprint
    assert settings.tokenizer_fingerprint == tiny_model.wordpieces.fingerprint


def test_a_lost_tokenizer_is_written_again(
    tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    corpus = open_corpus(str(tiny_corpus))
    encode_corpus(corpus, tiny_model, tmp_path / "x")
    tokenizer = tmp_path / "x.tokenizer.json"
    original = tokenizer.read_bytes()
    tokenizer.unlink()
    encode_corpus(corpus, tiny_model, tmp_path / "x")
    assert tokenizer.read_bytes() == original


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--output", "file"), 1),
        (("--output", "file/x"), 1),
        (("--output", "x" * 300), 1),
        (("--output", "/proc/x"), 1),
        (("--corpus", "y" * 300), 1),
        (("--alpha", 7), 2),
        (("--alpha", "nan"), 2),
        (("--max-length", 100_000), 2),
        (("--device", "cuda:99"), 2),
        (("--device", "meta"), 2),
        (("--device", "toaster"), 2),
        (("--model", "nowhere"), 1),
    ],
)
def test_wrong_arguments_are_one_line(
    tiny_corpus: Path,
    tiny_model_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: Commands,
    arguments: tuple[object, ...],
    code: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("keep")
    result = run("encode", "--corpus", tiny_corpus, "--model", tiny_model_folder, *arguments)
    assert result.code == code
    assert result.err.splitlines()[0].startswith("error: ")
    assert (tmp_path / "file").read_text() == "keep"


def test_the_working_directory_as_output(
    tiny_corpus: Path,
    tiny_model_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: Commands,
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    arguments = ("--corpus", tiny_corpus, "--model", tiny_model_folder, "--output", ".")
    assert run("encode", *arguments).code == 0
    assert verify(tmp_path / "here").documents == 30


def test_odd_documents_are_encoded(tiny_model: SpadeModel, tmp_path: Path) -> None:
    documents = {
        "empty": "",
        "blank": " \n\t ",
        "huge": "the cat sleeps " * 70_000,  # 1 MB
        "control": "cat\x00\x07\x1b[31m dog \u200b bird\u2028fish",
        "unknown": "\U0001f600 \u4e2d",
        "plain": "the cat",
    }
    path = tmp_path / "corpus.jsonl"
    lines = [json.dumps({"id": docid, "contents": text}) for docid, text in documents.items()]
    path.write_text("\n".join(lines))
    manifest = encode_corpus(open_corpus(str(path)), tiny_model, tmp_path / "x")
    vectors = {vector.docid: vector.impacts for vector in read_vectors(tmp_path / "x")}
    assert list(vectors) == list(documents)
    assert manifest.documents == 6
    assert manifest.shards[0].empty == ["empty", "blank", "unknown"]
    assert [docid for docid, impacts in vectors.items() if not impacts] == manifest.shards[0].empty


def test_a_document_without_terms_is_listed(
    tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "a", "contents": "the old cat sleeps"}\n{"id": "b", "contents": ""}\n')
    arguments = ("--corpus", path, "--model", tiny_model_folder)
    result = run("encode", *arguments, "--output", tmp_path / "x")
    assert result.code == 0
    assert "1 document without terms cannot be retrieved: b" in result.err
    assert VectorManifest.load(tmp_path / "x").shards[0].empty == ["b"]


def test_the_model_is_not_changed(idf_model: SpadeModel, tiny_corpus: Path, tmp_path: Path) -> None:
    config, state = (
        idf_model.config,
        {name: x.clone() for name, x in idf_model.state_dict().items()},
    )
    texts = [document.contents for document in open_corpus(str(tiny_corpus))]
    before = idf_model.encode(texts)
    encode_corpus(open_corpus(str(tiny_corpus)), idf_model, tmp_path / "x")
    assert idf_model.config == config
    assert all(torch.equal(state[name], x) for name, x in idf_model.state_dict().items())
    assert idf_model.encode(texts) == before
    assert [vector.impacts for vector in read_vectors(tmp_path / "x")] != before


def test_an_encoder_is_taken_as_it_is(
    tiny_model: SpadeModel, tiny_corpus: Path, tmp_path: Path
) -> None:
    encoder = SpadeEncoder(tiny_model).with_settings(alpha=0.9, k=1)
    manifest = encode_corpus(open_corpus(str(tiny_corpus)), encoder, tmp_path / "x")
    assert (manifest.settings.alpha, manifest.settings.k) == (0.9, 1)
    assert manifest.settings.model_fingerprint == encoder.fingerprint != tiny_model.fingerprint
