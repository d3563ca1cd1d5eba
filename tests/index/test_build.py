from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from spade_pyserini import build_bm25_index, build_impact_index, open_corpus
from spade_pyserini.errors import ArtifactError, OutputExistsError
from spade_pyserini.formats import vectors
from spade_pyserini.formats.files import lock, sha256, write_sealed
from spade_pyserini.formats.index_manifest import (
    FORMAT,
    IndexManifest,
    lucene_counts,
    manifest_path,
)
from spade_pyserini.index import build
from spade_pyserini.index.anserini import run_index_collection
from tests.commands import Commands, copy_artifact

pytestmark = pytest.mark.java


def test_lucene_has_every_posting(tiny_index: Path, tiny_vectors: Path) -> None:
    encoded = vectors.verify(tiny_vectors)
    counts = lucene_counts(tiny_index)
    assert counts == (30, encoded.terms, encoded.impacts)
    manifest = IndexManifest.load(tiny_index)
    assert manifest.kind == "impact"
    assert manifest.tokenizer_fingerprint == encoded.settings.tokenizer_fingerprint
    assert sha256(Path(f"{tiny_index}.tokenizer.json")) == sha256(
        Path(f"{tiny_vectors}.tokenizer.json")
    )


def test_nothing_is_left_beside_the_index(tiny_index: Path) -> None:
    assert {path.name for path in tiny_index.parent.iterdir()} == {
        "tiny",
        "tiny.manifest.json",
        "tiny.tokenizer.json",
    }


def test_the_same_call_again_does_nothing(
    tiny_index: Path, tiny_vectors: Path, tmp_path: Path
) -> None:
    index = copy_artifact(tiny_index, tmp_path)
    before = {path.name: path.stat().st_mtime_ns for path in index.iterdir()}
    build_impact_index(tiny_vectors, index)
    assert {path.name: path.stat().st_mtime_ns for path in index.iterdir()} == before


def test_an_index_of_something_else_is_refused(
    tiny_index: Path, tiny_vectors: Path, tmp_path: Path
) -> None:
    index = copy_artifact(tiny_index, tmp_path)
    manifest = IndexManifest.load(index)
    replace(manifest, source_sha256="0" * 64).save(index)
    with pytest.raises(OutputExistsError, match="built from something else"):
        build_impact_index(tiny_vectors, index)
    manifest_path(index).unlink()
    with pytest.raises(OutputExistsError, match="exists already"):
        build_impact_index(tiny_vectors, index)
    assert list(index.glob("segments_*"))
    build_impact_index(tiny_vectors, index, overwrite=True, optimize=True, threads=2)
    assert IndexManifest.load(index) == replace(manifest, optimized=True)


@pytest.mark.parametrize("other", ["--builder", "--tokenizer"])
def test_an_index_built_in_another_way_is_refused(
    tiny_index: Path, tmp_path: Path, run: Commands, other: str
) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "a.jsonl").write_text('{"id": "a", "vector": {"cat": 1}}')
    flags = ("--foreign", "--input", tmp_path / "v", "--output", tmp_path / "x")
    assert run("index", *flags).code == 0
    tokenizer = tiny_index.with_name("tiny.tokenizer.json")
    value = {"--builder": "anserini", "--tokenizer": tokenizer}[other]
    refused = run("index", *flags, other, value)
    assert refused.code == 1
    assert f"in another way (see {other}); pass --overwrite" in refused.err
    assert run("index", *flags).code == 0


def test_a_manifest_of_before_a_field_was_there(tiny_index: Path, tmp_path: Path) -> None:
    index = copy_artifact(tiny_index, tmp_path)
    manifest = IndexManifest.load(index)
    values = asdict(manifest)
    del values["reordered"], values["updates"], values["encoder"]
    write_sealed(manifest_path(index), {"format": FORMAT, **values})
    assert IndexManifest.load(index) == replace(manifest, encoder=None)


def test_an_index_that_lost_documents_is_not_kept(
    tiny_vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anserini indexes half of a truncated file and exits with 0: simulated one shard short."""
    real = run_index_collection

    def half(collection: str, source: Path, index: Path, *options: str, **rest: Any) -> None:
        short = copy_artifact(source, tmp_path)
        (short / "docs0001.jsonl.gz").unlink()
        real(collection, short, index, *options, **rest)

    monkeypatch.setattr(build, "run_index_collection", half)
    with pytest.raises(ArtifactError, match="the index has 18 documents, it should have 30"):
        build_impact_index(tiny_vectors, tmp_path / "index" / "x", builder="anserini")
    assert [path.name for path in (tmp_path / "index").iterdir()] == ["x.log"]


def test_a_damaged_index_is_built_again(
    tiny_index: Path, tiny_vectors: Path, tmp_path: Path
) -> None:
    index = copy_artifact(tiny_index, tmp_path)
    next(index.glob("segments_*")).unlink()
    build_impact_index(tiny_vectors, index)
    assert lucene_counts(index).documents == 30


@pytest.mark.parametrize("overwrite", [True, False])
def test_what_is_no_index_is_never_replaced(
    tiny_vectors: Path, tmp_path: Path, overwrite: bool
) -> None:
    (tmp_path / "file").write_text("keep")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.txt").write_text("keep")
    with pytest.raises(OutputExistsError, match="is a file"):
        build_impact_index(tiny_vectors, tmp_path / "file", overwrite=overwrite)
    with pytest.raises(OutputExistsError, match=r"thesis\.txt, which is not of an index"):
        build_impact_index(tiny_vectors, tmp_path / "folder", overwrite=overwrite)
    assert (tmp_path / "folder" / "thesis.txt").read_text() == "keep"


def test_anserini_does_not_outlive_us(tiny_vectors: Path, tmp_path: Path) -> None:
    """kill -9 of the index command ends the indexer too, and a rerun completes."""
    command = [sys.executable, "-m", "spade_pyserini.index", "--input", str(tiny_vectors)]
    command += ["--output", str(tmp_path / "x"), "--builder", "anserini"]
    process = subprocess.Popen(command)
    log = tmp_path / "x.log"
    deadline = time.monotonic() + 60
    while not (log.exists() and _children(process.pid)):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    children = _children(process.pid)
    time.sleep(0.5)  # until the child has asked to die with its parent
    process.kill()
    process.wait()
    while any(Path(f"/proc/{pid}").exists() for pid in children):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    build_impact_index(tiny_vectors, tmp_path / "x")
    assert lucene_counts(tmp_path / "x").documents == 30


def _children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    if not path.parent.parent.exists():
        pytest.skip("needs Linux's /proc to see child processes")
    return [int(child) for child in path.read_text().split()]


def test_two_builds_of_one_index(tiny_vectors: Path, tmp_path: Path) -> None:
    with lock(tmp_path / "x"), pytest.raises(OutputExistsError, match="another process"):
        build_impact_index(tiny_vectors, tmp_path / "x")


def test_an_indexer_that_writes_nothing(
    tiny_vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "run_index_collection", lambda *_, **__: None)
    with pytest.raises(ArtifactError, match="Lucene cannot open this index"):
        build_impact_index(tiny_vectors, tmp_path / "x", builder="anserini")


def test_a_killed_build_is_completed(tiny_vectors: Path, tmp_path: Path) -> None:
    """What kill -9 leaves at its two worst moments: half a folder, or a manifest alone."""
    (tmp_path / "x.building").mkdir()
    (tmp_path / "x.building" / "_0.fdt").write_bytes(b"half")
    manifest = build_impact_index(tiny_vectors, tmp_path / "x")
    (tmp_path / "x").rename(tmp_path / "gone")
    assert manifest_path(tmp_path / "x").exists()
    assert build_impact_index(tiny_vectors, tmp_path / "x") == manifest
    assert not (tmp_path / "x.building").exists()


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


def test_a_bm25_index_of_the_same_corpus(tiny_corpus: Path, tmp_path: Path) -> None:
    manifest = build_bm25_index(open_corpus(str(tiny_corpus)), tmp_path / "x")
    assert (manifest.kind, manifest.documents) == ("bm25", 30)
    assert not list(tmp_path.glob("*.bm25-input"))


def test_the_tokenizer_beside_the_vectors_must_be_theirs(
    tiny_vectors: Path, tmp_path: Path
) -> None:
    source = copy_artifact(tiny_vectors, tmp_path)
    path = vectors.tokenizer_path(source)
    definition = json.loads(path.read_text())
    definition["normalizer"]["lowercase"] = False
    path.write_text(json.dumps(definition))
    with pytest.raises(ArtifactError, match="not the tokenizer that the vectors were made with"):
        build_impact_index(source, tmp_path / "x")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--bm25",),
        ("--input", "x", "--bm25", "--corpus", "y"),
        ("--corpus", "y"),
        ("--input", "x", "--corpus-path", "y"),
        ("--input", "x", "--expansions-per-doc", "3"),
        ("--input", "x", "--threads", "100000"),
        ("--input", "x", "--verify", "--overwrite"),
        ("--input", "x", "--verify", "--optimize"),
        ("--input", "x", "--add", "--output", "y", "--overwrite"),
        ("--delete", "d1", "--output", "y", "--builder", "direct"),
    ],
)
def test_calls_that_make_no_sense(run: Commands, arguments: tuple[str, ...]) -> None:
    assert run("index", *arguments).code == 2
