"""Encoding a corpus in parts, on machines that do not communicate, and merging the parts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from spade_pyserini import (
    SpadeModel,
    encode_corpus,
    open_corpus,
)
from spade_pyserini.corpora import Corpus
from spade_pyserini.encode import EncodeOptions, Part, merge_parts
from spade_pyserini.errors import ArtifactError, OutputExistsError, UsageError
from spade_pyserini.formats.locks import lock
from spade_pyserini.formats.vector_manifest import VectorManifest
from spade_pyserini.formats.vectors import verify
from tests.commands import Commands
from tests.conftest import file_bytes, write_corpus

HALVES = [EncodeOptions(part=Part(number, 2), shard_size=10) for number in (0, 1)]


def test_parts_are_encoded_and_merged(
    corpus_of_95: Path, tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    model = ("--model", tiny_model_folder)
    common = ("--corpus", corpus_of_95, *model, "--shard-size", 10)
    assert run("encode", *common, "--output", tmp_path / "reference").code == 0
    parts = (*common, "--output", tmp_path / "x", "--shard-num", 3)
    assert run("encode", *parts, "--shard-id", 2).code == 0
    merge = ("--corpus", corpus_of_95, *model, "--output", tmp_path / "x", "--merge")
    result = run("encode", *merge)
    assert result.code == 1 and "0 of 3 is missing" in result.err
    for number in (0, 1):
        assert run("encode", *parts, "--shard-id", number).code == 0
    assert not (tmp_path / "x.manifest.json").exists()
    result = run("encode", *merge)
    assert result.code == 0, result.err
    assert verify(tmp_path / "x") == verify(tmp_path / "reference")
    assert file_bytes(tmp_path / "x") == file_bytes(tmp_path / "reference")
    assert not list(tmp_path.glob("x.part-*"))
    assert run("encode", *merge).code == 0  # nothing is left to do
    result = run("encode", *parts, "--shard-id", 1)
    assert result.code == 1 and "belongs to a run without parts" in result.err


def test_parts_that_do_not_fit_are_not_merged(tiny_model: SpadeModel, tmp_path: Path) -> None:
    long = open_corpus("c", write_corpus(tmp_path / "long", 40))
    short = open_corpus("c", write_corpus(tmp_path / "short", 15))
    folder = tmp_path / "x"

    def encode(
        part: Part, corpus: Corpus = long, overwrite: bool = False, alpha: float = 0.5
    ) -> None:
        options = EncodeOptions(part=part, shard_size=10, overwrite=overwrite)
        encode_corpus(corpus, tiny_model.with_settings(alpha=alpha), folder, options)

    with pytest.raises(ArtifactError, match="no parts to merge"):
        merge_parts(folder)
    encode(Part(0, 2))
    encode(Part(1, 2), short)
    with pytest.raises(ArtifactError, match=r"different corpora, of 15 and 40 documents"):
        merge_parts(folder)
    part = VectorManifest.load(folder, Part(0, 2).manifest)
    replace(part, corpus_documents=15).save(folder, Part(0, 2).manifest)
    with pytest.raises(ArtifactError, match=r"shard 2 has 10 documents, expected 0; .* same"):
        merge_parts(folder)
    part.save(folder, Part(0, 2).manifest)
    encode(Part(1, 2), overwrite=True)
    manifest = VectorManifest.load(folder, Part(0, 2).manifest)
    encode(Part(0, 2), overwrite=True, alpha=0.9)
    with pytest.raises(ArtifactError, match="shard_id=1 was encoded with other settings"):
        merge_parts(folder)
    encode(Part(0, 2), overwrite=True)
    assert VectorManifest.load(folder, Part(0, 2).manifest) == manifest
    encode(Part(2, 3), overwrite=True)
    with pytest.raises(ArtifactError, match="encodings, divided into 2 and 3 parts"):
        merge_parts(folder)
    (tmp_path / "x.part-2-of-3.manifest.json").unlink()
    damaged = folder / "docs0003.jsonl.gz"
    original = damaged.read_bytes()
    damaged.write_bytes(original[:-1])
    with pytest.raises(ArtifactError, match="truncated or changed"):
        merge_parts(folder)
    damaged.write_bytes(original)
    assert merge_parts(folder).documents == 40


def test_a_corpus_that_grew_between_two_parts(tiny_model: SpadeModel, tmp_path: Path) -> None:
    """Part 1, the shards 1 and 3, is encoded before the last file of the corpus is written."""
    folder, files = tmp_path / "x", tmp_path / "c"
    files.mkdir()
    lines = (write_corpus(tmp_path / "all", 40) / "corpus.jsonl").read_text().splitlines(True)
    (files / "a.jsonl").write_text("".join(lines[:30]))
    encode_corpus(open_corpus("c", files), tiny_model, folder, HALVES[1])
    (files / "b.jsonl").write_text("".join(lines[30:]))
    corpus = open_corpus("c", files)
    encode_corpus(corpus, tiny_model, folder, HALVES[0])
    with pytest.raises(ArtifactError, match="the workers read different corpora"):
        merge_parts(folder)
    encode_corpus(corpus, tiny_model, folder, HALVES[1])
    assert merge_parts(folder).documents == 40


def test_parts_of_an_older_version_are_merged(tiny_model: SpadeModel, tmp_path: Path) -> None:
    corpus = open_corpus("c", write_corpus(tmp_path / "c", 40))
    for number in (0, 1):
        manifest = encode_corpus(corpus, tiny_model, tmp_path / "x", HALVES[number])
        older = replace(manifest, corpus_documents=None)
        older.save(tmp_path / "x", Part(number, 2).manifest)
    assert merge_parts(tmp_path / "x").documents == 40


def test_a_merge_that_was_killed_is_finished(tiny_model: SpadeModel, tmp_path: Path) -> None:
    corpus = open_corpus("c", write_corpus(tmp_path / "c", 40))
    for number in (0, 1):
        encode_corpus(corpus, tiny_model, tmp_path / "x", HALVES[number])
    left = tmp_path / "x.part-1-of-2.manifest.json"
    manifest = left.read_bytes()
    merged = merge_parts(tmp_path / "x")
    left.write_bytes(manifest)
    assert merge_parts(tmp_path / "x") == merged
    assert not left.exists()


def test_a_part_that_waits_for_a_merge_is_refused(
    tiny_model: SpadeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = open_corpus("c", write_corpus(tmp_path / "c", 40))
    for number in (0, 1):
        encode_corpus(corpus, tiny_model, tmp_path / "x", HALVES[number])

    @contextmanager
    def after_the_merge(path: Path, *, wait: bool = False) -> Iterator[None]:
        if wait:
            merge_parts(tmp_path / "x")
        with lock(path, wait=wait):
            yield

    monkeypatch.setattr("spade_pyserini.sharding.resume.lock", after_the_merge)
    with pytest.raises(OutputExistsError, match="belongs to a run without parts"):
        encode_corpus(corpus, tiny_model, tmp_path / "x", HALVES[1])
    assert not list(tmp_path.glob("x.part-*"))


def test_a_merge_does_not_change_another_encoding(tiny_model: SpadeModel, tmp_path: Path) -> None:
    corpus = open_corpus("c", write_corpus(tmp_path / "c", 40))
    folder, manifest = tmp_path / "x", tmp_path / "x.manifest.json"

    def encode(part: Part, overwrite: bool = False) -> None:
        options = EncodeOptions(part=part, shard_size=10, overwrite=overwrite)
        encode_corpus(corpus, tiny_model, folder, options)

    for number in (0, 1):
        encode(Part(number, 2))
    replace(VectorManifest.load(folder, Part(0, 2).manifest), complete=True).save(folder)
    before = manifest.read_bytes()
    with pytest.raises(OutputExistsError, match="belong to another encoding"):
        merge_parts(folder)
    assert manifest.read_bytes() == before
    manifest.unlink()
    with pytest.raises(OutputExistsError, match=r"contains parts; .* merge=True"):
        encode(Part(0, 1))
    encode(Part(0, 1), overwrite=True)
    assert not list(tmp_path.glob("x.part-*"))


def test_parts_in_the_working_folder(
    corpus_of_95: Path,
    tiny_model_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: Commands,
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for number in (0, 1):
        flags = ("--shard-id", number, "--shard-num", 2, "--shard-size", 40)
        model = ("--model", tiny_model_folder)
        assert run("encode", "--corpus", corpus_of_95, "--output", ".", *model, *flags).code == 0
    assert run("encode", "--output", ".", "--merge").code == 0  # no corpus is needed
    assert verify(tmp_path / "here").documents == 95
    assert run("encode", "--output", "y").code == 2


def test_bad_documents_of_parts_and_at_the_end(
    tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    """The first and the last line are invalid; the last line follows a full shard."""
    corpus = write_corpus(tmp_path / "c", 20)
    (file,) = corpus.glob("*")
    lines = file.read_text().splitlines()
    file.write_text("\n".join(["not JSON", *lines, "nor this"]) + "\n")
    flags = ["--corpus", corpus, "--model", tiny_model_folder]
    flags += ["--shard-size", 10, "--max-errors", 2]
    assert run("encode", *flags, "--output", tmp_path / "reference").code == 0
    listed = (tmp_path / "reference.errors.txt").read_text().splitlines()
    assert [":1:" in listed[0], ":22:" in listed[1], len(listed)] == [True, True, 2]
    for number in (0, 1):
        part = ("--shard-id", number, "--shard-num", 2)
        assert run("encode", *flags, "--output", tmp_path / "x", *part).code == 0
        assert (tmp_path / f"x.part-{number}-of-2.errors.txt").read_text().splitlines() == listed
    assert run("encode", "--merge", "--output", tmp_path / "x").code == 0
    assert (tmp_path / "x.errors.txt").read_text().splitlines() == listed
    assert not list(tmp_path.glob("x.part-*"))


def test_a_part_replaces_only_its_own_shards(tiny_model: SpadeModel, tmp_path: Path) -> None:
    corpus = open_corpus("c", write_corpus(tmp_path / "c", 40))
    for number in (0, 1):
        encode_corpus(corpus, tiny_model, tmp_path / "x", HALVES[number])
    (tmp_path / "x.part-1-of-2.manifest.json").unlink()
    with pytest.raises(OutputExistsError, match="has no manifest"):
        encode_corpus(corpus, tiny_model, tmp_path / "x", HALVES[1])
    encode_corpus(corpus, tiny_model, tmp_path / "x", replace(HALVES[1], overwrite=True))
    assert merge_parts(tmp_path / "x").documents == 40
    with pytest.raises(UsageError, match="leave out shard_id"):
        encode_corpus(corpus, tiny_model, tmp_path / "y", replace(HALVES[0], components=True))
