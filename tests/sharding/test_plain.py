"""Manifest and files of a job without parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from spade_pyserini.errors import ArtifactError
from spade_pyserini.sharding.plain import PlainFiles, PlainShard


@dataclass(frozen=True)
class Settings:
    corpus: str
    shard_size: int


FILES = PlainFiles("test/1", ".txt", Settings)


def write(folder: Path, number: int) -> PlainShard:
    with FILES.write(folder, number) as stream:
        stream.write(b"text")
        assert not list(folder.glob("*")), "a temporary file must be outside the folder"
    return FILES.record(folder, number, 2, "input")


def test_a_manifest_is_read_as_it_was_saved(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    empty = FILES.new_manifest(Settings("c", 2))
    manifest = replace(empty, complete=True, shards=[write(folder, 0)])
    manifest.save(folder, "manifest.json")
    assert FILES.load(folder, "manifest.json") == manifest
    assert (manifest.documents, manifest.shards[0].number) == (2, 0)


def test_a_manifest_never_names_a_file_outside_its_folder(tmp_path: Path) -> None:
    manifest = FILES.new_manifest(Settings("c", 2))
    outside = PlainShard("../docs0000.txt", 2, "", "")
    replace(manifest, shards=[outside]).save(tmp_path / "x", "manifest.json")
    with pytest.raises(ArtifactError, match="is not the name of a shard"):
        FILES.load(tmp_path / "x", "manifest.json")


def test_damage_is_noticed_and_only_shards_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    shard = write(folder, 0)
    assert FILES.is_intact(folder, shard)
    (folder / shard.file).write_bytes(b"other")
    assert not FILES.is_intact(folder, shard)
    (folder / "mine.txt").write_text("keep")
    FILES.remove(folder, None)
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]
    assert not FILES.is_intact(folder, shard)
