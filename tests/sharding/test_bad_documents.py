"""Invalid documents stop a job, or are left out and listed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from spade_pyserini import (
    read_vectors,
)
from spade_pyserini.formats.vector_manifest import VectorManifest
from spade_pyserini.formats.vectors import verify
from tests.commands import Commands
from tests.conftest import file_bytes


@pytest.mark.slow
def test_a_bad_document_stops_every_process(
    corpus_of_95: Path, tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    path = corpus_of_95 / "corpus.jsonl"
    lines = path.read_text().splitlines()
    lines[60] = "{"
    path.write_text("\n".join(lines))
    flags = ("--corpus", corpus_of_95, "--model", tiny_model_folder, "--output", tmp_path / "x")
    result = run("encode", *flags, "--shard-size", 10, "--processes", 2)
    assert result.code == 1
    assert f"{path}:61: not valid JSON" in result.err
    assert not VectorManifest.load(tmp_path / "x").complete


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_bad_documents_are_left_out_and_listed(
    corpus_of_95: Path, tiny_model_folder: Path, tmp_path: Path, run: Commands, processes: int
) -> None:
    path = corpus_of_95 / "corpus.jsonl"
    good = path.read_bytes()
    lines = good.splitlines()
    lines[12] = b"{"
    lines[30] = lines[29]  # the same id twice
    lines[31] = b'{"_id": "", "text": "no name"}'
    lines[90] = b'{"_id": "latin", "text": "caf\xe9"}'
    path.write_bytes(b"\n".join(lines))
    common = ("--corpus", corpus_of_95, "--model", tiny_model_folder, "--output", tmp_path / "x")
    flags = (*common, "--shard-size", 10, "--processes", processes)
    result = run("encode", *flags, "--max-errors", 3)
    assert result.code == 1
    assert "bad documents" in result.err and ":91: byte" in result.err
    assert len((tmp_path / "x.errors.txt").read_text().splitlines()) == 4
    result = run("encode", *flags, "--max-errors", 4)
    assert result.code == 0, result.err
    assert "4 bad documents were left out" in result.err
    listed = (tmp_path / "x.errors.txt").read_text().splitlines()
    assert [line.split(":")[1] for line in sorted(listed)] == ["13", "31", "32", "91"]
    assert verify(tmp_path / "x").documents == 91
    assert len({vector.docid for vector in read_vectors(tmp_path / "x")}) == 91
    path.write_bytes(good)
    assert run("encode", *flags, "--overwrite").code == 0
    assert not (tmp_path / "x.errors.txt").exists()


def test_a_bad_line_stops_the_job_but_loses_no_finished_shard(
    tiny_corpus: Path, tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    shutil.copytree(tiny_corpus, tmp_path / "tiny")
    path = tmp_path / "tiny" / "corpus.jsonl"
    good = path.read_text()
    lines = good.splitlines()
    lines[20] = lines[20][:-5]
    path.write_text("\n".join(lines))
    arguments = ("--corpus", path.parent, "--model", tiny_model_folder, "--output", tmp_path / "x")
    result = run("encode", *arguments, "--shard-size", 10)
    assert result.code == 1
    assert f"{path}:21: not valid JSON" in result.err
    assert list(file_bytes(tmp_path / "x")) == ["docs0000.jsonl.gz", "docs0001.jsonl.gz"]
    path.write_text(good)
    assert run("encode", *arguments, "--shard-size", 10).code == 0
    assert verify(tmp_path / "x").documents == 30
