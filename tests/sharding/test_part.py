"""Encoding in parts, on machines that know nothing of each other, and their merge."""

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
from spade_pyserini.encode import EncodeOptions, Part, merge_parts
from spade_pyserini.errors import ArtifactError, OutputExistsError, UsageError
from spade_pyserini.formats.files import lock
from spade_pyserini.formats.vectors import VectorManifest, verify
from tests.commands import Commands
from tests.conftest import write_corpus
from tests.encode.test_corpus import shards


def test_machines_side_by_side(
    many: Path, tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    model = ("--model", tiny_model_folder)
    common = ("--corpus", many, *model, "--shard-size", 10)
    assert run("encode", *common, "--output", tmp_path / "whole").code == 0
    parts = (*common, "--output", tmp_path / "x", "--shard-num", 3)
    assert run("encode", *parts, "--shard-id", 2).code == 0
    merge = ("--corpus", many, *model, "--output", tmp_path / "x", "--merge")
    result = run("encode", *merge)
    assert result.code == 1 and "--shard-id 0 of 3 is missing" in result.err
    for number in (0, 1):
        assert run("encode", *parts, "--shard-id", number).code == 0
    assert not (tmp_path / "x.manifest.json").exists()
    result = run("encode", *merge)
    assert result.code == 0, result.err
    assert verify(tmp_path / "x") == verify(tmp_path / "whole")
    assert shards(tmp_path / "x") == shards(tmp_path / "whole")
    assert not list(tmp_path.glob("x.part-*"))
    assert run("encode", *merge).code == 0  # again: nothing to do
    result = run("encode", *parts, "--shard-id", 1)
    assert result.code == 1 and "the whole of an encoding already" in result.err


def test_parts_that_do_not_fit_are_not_merged(tiny_model: SpadeModel, tmp_path: Path) -> None:
    long = open_corpus("c", write_corpus(tmp_path / "long", 40))
    short = open_corpus("c", write_corpus(tmp_path / "short", 15))
    folder = tmp_path / "x"

    def encode(part: Part, corpus: object = long, **changes: object) -> None:
        encode_corpus(
            corpus, tiny_model, folder, EncodeOptions(part=part, shard_size=10, **changes)
        )  # type: ignore[arg-type]

    with pytest.raises(ArtifactError, match="no parts to merge"):
        merge_parts(folder)
    encode(Part(0, 2))
    encode(Part(1, 2), short)
    with pytest.raises(ArtifactError, match=r"not all have read the same .* 15 and 40 documents"):
        merge_parts(folder)
    part = VectorManifest.load(folder, Part(0, 2).manifest)
    replace(part, corpus_documents=15).save(folder, Part(0, 2).manifest)
    with pytest.raises(ArtifactError, match=r"do not fit together at docs0002.* same on all"):
        merge_parts(folder)
    part.save(folder, Part(0, 2).manifest)
    encode(Part(1, 2), overwrite=True)
    manifest = VectorManifest.load(folder, Part(0, 2).manifest)
    tiny_model.reconfigure(alpha=0.9)
    try:
        encode(Part(0, 2), overwrite=True)
        with pytest.raises(ArtifactError, match="--shard-id 1 was encoded with other settings"):
            merge_parts(folder)
    finally:
        tiny_model.reconfigure(alpha=0.5)
    encode(Part(0, 2), overwrite=True)
    assert VectorManifest.load(folder, Part(0, 2).manifest) == manifest
    encode(Part(2, 3), overwrite=True)
    with pytest.raises(ArtifactError, match="its parts are of 2 and 3"):
        merge_parts(folder)
    (tmp_path / "x.part-2-of-3.manifest.json").unlink()
    damaged = folder / "docs0003.jsonl.gz"
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[:-1])
    with pytest.raises(ArtifactError, match="truncated or changed"):
        merge_parts(folder)
    damaged.write_bytes(whole)
    assert merge_parts(folder).documents == 40


def test_a_last_shard_that_its_machine_never_saw(tiny_model: SpadeModel, tmp_path: Path) -> None:
    """Shard 3 is that of a machine whose corpus lacks the last file."""
    folder, files = tmp_path / "x", tmp_path / "c"
    files.mkdir()
    lines = (write_corpus(tmp_path / "all", 40) / "corpus.jsonl").read_text().splitlines(True)
    (files / "a.jsonl").write_text("".join(lines[:30]))
    encode_corpus(
        open_corpus("c", files), tiny_model, folder, EncodeOptions(part=Part(1, 2), shard_size=10)
    )
    (files / "b.jsonl").write_text("".join(lines[30:]))
    corpus = open_corpus("c", files)
    encode_corpus(corpus, tiny_model, folder, EncodeOptions(part=Part(0, 2), shard_size=10))
    with pytest.raises(ArtifactError, match="not all have read the same corpus"):
        merge_parts(folder)
    encode_corpus(corpus, tiny_model, folder, EncodeOptions(part=Part(1, 2), shard_size=10))
    assert merge_parts(folder).documents == 40


def test_parts_of_an_older_version_are_merged(tiny_model: SpadeModel, tmp_path: Path) -> None:
    corpus = open_corpus("c", write_corpus(tmp_path / "c", 40))
    for number in (0, 1):
        part = Part(number, 2)
        manifest = encode_corpus(
            corpus, tiny_model, tmp_path / "x", EncodeOptions(part=part, shard_size=10)
        )
        replace(manifest, corpus_documents=None).save(tmp_path / "x", part.manifest)
    assert merge_parts(tmp_path / "x").documents == 40


def test_a_merge_that_was_killed_is_finished(tiny_model: SpadeModel, tmp_path: Path) -> None:
    corpus = open_corpus("c", write_corpus(tmp_path / "c", 40))
    for number in (0, 1):
        encode_corpus(
            corpus, tiny_model, tmp_path / "x", EncodeOptions(part=Part(number, 2), shard_size=10)
        )
    left = tmp_path / "x.part-1-of-2.manifest.json"
    manifest = left.read_bytes()
    whole = merge_parts(tmp_path / "x")
    left.write_bytes(manifest)
    assert merge_parts(tmp_path / "x") == whole
    assert not left.exists()


def test_a_part_that_waits_for_a_merge_is_refused(
    tiny_model: SpadeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = open_corpus("c", write_corpus(tmp_path / "c", 40))
    for number in (0, 1):
        encode_corpus(
            corpus, tiny_model, tmp_path / "x", EncodeOptions(part=Part(number, 2), shard_size=10)
        )

    @contextmanager
    def after_the_merge(path: Path, *, wait: bool = False) -> Iterator[None]:
        if wait:
            merge_parts(tmp_path / "x")
        with lock(path, wait=wait):
            yield

    monkeypatch.setattr("spade_pyserini.encode.corpus.lock", after_the_merge)
    with pytest.raises(OutputExistsError, match="the whole of an encoding already"):
        encode_corpus(
            corpus, tiny_model, tmp_path / "x", EncodeOptions(part=Part(1, 2), shard_size=10)
        )
    assert not list(tmp_path.glob("x.part-*"))


def test_a_merge_touches_no_other_encoding(tiny_model: SpadeModel, tmp_path: Path) -> None:
    corpus = open_corpus("c", write_corpus(tmp_path / "c", 40))
    folder, manifest = tmp_path / "x", tmp_path / "x.manifest.json"

    def encode(part: Part, **changes: object) -> None:
        encode_corpus(
            corpus, tiny_model, folder, EncodeOptions(part=part, shard_size=10, **changes)
        )  # type: ignore[arg-type]

    for number in (0, 1):
        encode(Part(number, 2))
    replace(VectorManifest.load(folder, Part(0, 2).manifest), complete=True).save(folder)
    before = manifest.read_bytes()
    with pytest.raises(OutputExistsError, match="the whole of another encoding"):
        merge_parts(folder)
    assert manifest.read_bytes() == before
    manifest.unlink()
    with pytest.raises(OutputExistsError, match=r"parts of an encoding; .* --merge"):
        encode(Part(0, 1))
    encode(Part(0, 1), overwrite=True)
    assert not list(tmp_path.glob("x.part-*"))


def test_parts_in_the_working_folder(
    many: Path,
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
        assert run("encode", "--corpus", many, "--output", ".", *model, *flags).code == 0
    assert run("encode", "--output", ".", "--merge").code == 0  # needs no corpus
    assert verify(tmp_path / "here").documents == 95
    assert run("encode", "--output", "y").code == 2


def test_bad_documents_of_parts_and_at_the_end(
    tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    """The second shard is full when the last line comes, which nobody can read."""
    corpus = write_corpus(tmp_path / "c", 20)
    (file,) = corpus.glob("*")
    lines = file.read_text().splitlines()
    file.write_text("\n".join(["not JSON", *lines, "nor this"]) + "\n")
    flags = ["--corpus", corpus, "--model", tiny_model_folder]
    flags += ["--shard-size", 10, "--max-errors", 2]
    assert run("encode", *flags, "--output", tmp_path / "whole").code == 0
    listed = (tmp_path / "whole.errors.txt").read_text().splitlines()
    assert [":1:" in listed[0], ":22:" in listed[1], len(listed)] == [True, True, 2]
    for number in (0, 1):
        part = ("--shard-id", number, "--shard-num", 2)
        assert run("encode", *flags, "--output", tmp_path / "x", *part).code == 0
        assert (tmp_path / f"x.part-{number}-of-2.errors.txt").read_text().splitlines() == listed
    assert run("encode", "--merge", "--output", tmp_path / "x").code == 0
    assert (tmp_path / "x.errors.txt").read_text().splitlines() == listed
    assert not list(tmp_path.glob("x.part-*"))


def test_parts_keep_out_of_each_others_way(tiny_model: SpadeModel, tmp_path: Path) -> None:
    corpus = open_corpus("c", write_corpus(tmp_path / "c", 40))
    for number in (0, 1):
        encode_corpus(
            corpus, tiny_model, tmp_path / "x", EncodeOptions(part=Part(number, 2), shard_size=10)
        )
    (tmp_path / "x.part-1-of-2.manifest.json").unlink()
    with pytest.raises(OutputExistsError, match="no manifest of ours"):
        encode_corpus(
            corpus, tiny_model, tmp_path / "x", EncodeOptions(part=Part(1, 2), shard_size=10)
        )
    again = {"part": Part(1, 2), "shard_size": 10, "overwrite": True}
    encode_corpus(corpus, tiny_model, tmp_path / "x", EncodeOptions(**again))  # type: ignore[arg-type]
    assert merge_parts(tmp_path / "x").documents == 40
    with pytest.raises(UsageError, match="leave --shard-id out"):
        encode_corpus(
            corpus, tiny_model, tmp_path / "y", EncodeOptions(part=Part(0, 2), components=True)
        )


@pytest.mark.parametrize(
    "flags", [("--shard-id", 0), ("--shard-num", 2), ("--shard-id", 2, "--shard-num", 2)]
)
def test_half_a_part_is_a_wrong_call(
    many: Path, tmp_path: Path, run: Commands, flags: tuple[object, ...]
) -> None:
    result = run("encode", "--corpus", many, "--output", tmp_path / "x", *flags)
    assert result.code == 2
