from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeModel, encode_corpus, open_corpus
from spade_pyserini.encode import EncodeOptions
from spade_pyserini.errors import ArtifactError
from spade_pyserini.formats.components import components_path, read_components
from spade_pyserini.models import SpadeEncoder
from tests.commands import Commands
from tests.conftest import write_corpus


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def times(folder: Path) -> list[int]:
    return [path.stat().st_mtime_ns for path in sorted(folder.iterdir())]


@pytest.fixture(scope="module")
def encoded(
    tiny_corpus: Path, tiny_model: SpadeModel, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Three shards of vectors with components. All tests share them: do not change them."""
    folder = tmp_path_factory.mktemp("encode") / "encoded"
    corpus = open_corpus(str(tiny_corpus))
    encode_corpus(corpus, tiny_model, folder, EncodeOptions(shard_size=12, components=True))
    return folder


def test_weights_are_restored_exactly(
    tiny_corpus: Path, tiny_model_folder: Path, tmp_path: Path
) -> None:
    model = SpadeModel.from_pretrained(tiny_model_folder)
    with torch.no_grad():
        model.query_weights.uniform_(0.1, 3, generator=torch.Generator().manual_seed(1))
    corpus = open_corpus(str(tiny_corpus))
    # One document per batch, as below: in other batches, weights may be rounded differently.
    encode_corpus(corpus, model, tmp_path / "x", EncodeOptions(batch_tokens=1, components=True))
    term_ids = {term: term_id for term_id, term in enumerate(model.wordpieces.terms)}
    for document, vector in zip(corpus, read_components(tmp_path / "x"), strict=True):
        assert vector.docid == document.docid
        ids = model.wordpieces.document_ids([document.contents], 32)
        expected = SpadeEncoder(model).components(ids)
        parts = (vector.weighting, vector.expansion)
        for tensor, weights in zip(expected, parts, strict=True):
            dense = torch.zeros(tensor.shape[1])
            dense[[term_ids[term] for term in weights]] = torch.tensor(list(weights.values()))
            assert torch.equal(dense, tensor[0])
            assert weights
        own, added = expected
        assert torch.equal(SpadeEncoder(model).weigh(ids), 0.5 * own + 0.5 * added)


def test_components_do_not_change_the_vectors(encoded: Path, tiny_vectors: Path) -> None:
    assert files(encoded) == files(tiny_vectors)
    assert not components_path(tiny_vectors).exists()
    assert files(components_path(encoded)).keys() == files(encoded).keys()


def test_only_shards_without_components_are_encoded_again(
    encoded: Path, tiny_corpus: Path, tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    arguments = ("--corpus", tiny_corpus, "--model", tiny_model_folder, "--output", tmp_path / "x")
    assert run("encode", *arguments, "--shard-size", 12).code == 0
    assert not components_path(tmp_path / "x").exists()
    assert run("encode", *arguments, "--shard-size", 12, "--components").code == 0
    path = components_path(tmp_path / "x")
    assert files(path) == files(components_path(encoded))
    (path / "docs0001.jsonl.gz").write_bytes(b"cut")
    before = times(tmp_path / "x"), times(path)
    assert run("encode", *arguments, "--shard-size", 12, "--components").code == 0
    after = times(tmp_path / "x"), times(path)
    assert files(path) == files(components_path(encoded))
    for old, new in zip(before, after, strict=True):
        assert [a == b for a, b in zip(old, new, strict=True)] == [True, False, True]


def test_kill_9_then_the_same_command_completes(
    tiny_model_folder: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "corpus", 400)
    command = [sys.executable, "-m", "spade_pyserini.encode", "--corpus", str(corpus)]
    command += ["--model", str(tiny_model_folder), "--shard-size", "10", "--components"]
    process = subprocess.Popen([*command, "--output", str(tmp_path / "killed")])
    manifest = tmp_path / "killed.manifest.json"
    deadline = time.monotonic() + 120
    while not (manifest.exists() and json.loads(manifest.read_text())["shards"]):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    known = [shard["file"] for shard in json.loads(manifest.read_text())["shards"]]
    assert 0 < len(known) < 40
    kept = [components_path(tmp_path / "killed") / file for file in known]
    modified = [path.stat().st_mtime_ns for path in kept]
    for name in ("killed", "whole"):
        encode_corpus(
            open_corpus(str(corpus)),
            tiny_model,
            tmp_path / name,
            EncodeOptions(model_name=tiny_model_folder.name, shard_size=10, components=True),
        )
    places = [components_path(tmp_path / name) for name in ("killed", "whole")]
    assert files(places[0]) == files(places[1])
    assert [path.stat().st_mtime_ns for path in kept] == modified
    assert len(list(read_components(tmp_path / "killed"))) == 400


def test_components_of_other_vectors_are_not_left_behind(
    tiny_corpus: Path, tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    folder = tmp_path / "x"
    arguments = ("--corpus", tiny_corpus, "--model", tiny_model_folder, "--output", folder)
    assert run("encode", *arguments, "--components").code == 0
    (components_path(folder) / "precious.txt").write_text("keep")
    assert run("encode", *arguments, "--alpha", 0.2, "--overwrite").code == 0
    assert files(components_path(folder)) == {"precious.txt": b"keep"}
    with pytest.raises(ArtifactError, match=r"docs0000.* run .* with components=True"):
        next(read_components(folder))


def test_a_corpus_that_became_shorter(tiny_model: SpadeModel, tmp_path: Path) -> None:
    for count in (30, 20):
        corpus = open_corpus("c", write_corpus(tmp_path / str(count), count))
        manifest = encode_corpus(
            corpus,
            tiny_model,
            tmp_path / "x",
            EncodeOptions(shard_size=10, components=True, overwrite=True),
        )
        replace(manifest, complete=False).save(tmp_path / "x")
    assert manifest.documents == 20
    assert list(files(components_path(tmp_path / "x"))) == [
        "docs0000.jsonl.gz",
        "docs0001.jsonl.gz",
    ]
    assert len(list(read_components(tmp_path / "x"))) == 20


def test_damage_is_noticed(tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path) -> None:
    encode_corpus(
        open_corpus(str(tiny_corpus)), tiny_model, tmp_path / "x", EncodeOptions(components=True)
    )
    path = components_path(tmp_path / "x") / "docs0000.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ArtifactError, match="missing, changed, or belong to other vectors"):
        list(read_components(tmp_path / "x"))
