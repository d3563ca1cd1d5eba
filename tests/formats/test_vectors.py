"""Damaged vectors and manifests, which Anserini would index without an error, are reported."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from spade_pyserini.errors import ArtifactError, InputError
from spade_pyserini.formats.digests import sha256
from spade_pyserini.formats.vector_manifest import VectorManifest, manifest_path
from spade_pyserini.formats.vectors import read_shard, read_vectors, verify, write_shard
from spade_pyserini.records import ImpactVector
from tests.commands import Commands, copy_artifact


@pytest.fixture
def vectors(tiny_vectors: Path, tmp_path: Path) -> Path:
    return copy_artifact(tiny_vectors, tmp_path)


def test_the_exact_bytes_of_a_shard(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    write_shard(
        tmp_path / "x", 7, [ImpactVector("d1", {"cat": 3, "##s": 1}), ImpactVector("é", {})]
    )
    packed = (tmp_path / "x" / "docs0007.jsonl.gz").read_bytes()
    assert gzip.decompress(packed).decode() == (
        '{"id": "d1", "vector": {"cat": 3, "##s": 1}}\n{"id": "é", "vector": {}}\n'
    )
    assert packed[4:8] == b"\0\0\0\0"  # no time in the header: the same vectors give the same bytes
    assert list(tmp_path.iterdir()) == [tmp_path / "x"]


def test_two_workers_may_write_the_same_shard(tmp_path: Path) -> None:
    """A worker that seems to be dead may still write its shard."""
    (tmp_path / "x").mkdir()

    def slow() -> Iterator[ImpactVector]:
        yield ImpactVector("d1", {"cat": 3})
        write_shard(tmp_path / "x", 7, [ImpactVector("d1", {"cat": 3}), ImpactVector("d2", {})])
        yield ImpactVector("d2", {})

    digest = write_shard(tmp_path / "x", 7, slow())
    assert sha256(tmp_path / "x" / "docs0007.jsonl.gz") == digest
    assert list(tmp_path.iterdir()) == [tmp_path / "x"]


def test_what_was_written_is_verified(vectors: Path) -> None:
    assert verify(vectors).documents == 30


def test_a_truncated_shard(vectors: Path) -> None:
    path = vectors / "docs0001.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-7])
    with pytest.raises(ArtifactError, match=r"docs0001\.jsonl\.gz: truncated or changed"):
        verify(vectors)
    with pytest.raises(InputError, match="cut off"):
        list(read_vectors(vectors))


@pytest.mark.parametrize("name", ["README.md", ".docs0001.jsonl.gz.tmp", "docs0003.jsonl.gz"])
def test_a_stray_file_among_the_shards(vectors: Path, name: str) -> None:
    (vectors / name).write_text("x")
    with pytest.raises(ArtifactError, match=f"{name} is not in the manifest"):
        verify(vectors)


def test_a_missing_shard(vectors: Path) -> None:
    (vectors / "docs0002.jsonl.gz").unlink()
    with pytest.raises(ArtifactError, match=r"docs0002\.jsonl\.gz is missing"):
        verify(vectors)


def test_a_missing_manifest(vectors: Path) -> None:
    manifest_path(vectors).unlink()
    with pytest.raises(ArtifactError, match="has no manifest"):
        verify(vectors)


def test_an_unfinished_encoding(vectors: Path) -> None:
    replace(VectorManifest.load(vectors), complete=False).save(vectors)
    with pytest.raises(ArtifactError, match="run the same encode command again"):
        verify(vectors)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"documents": 29}, "edited or damaged"),
        ({"documents": "30"}, "edited or damaged"),
        ({"complete": "no"}, "edited or damaged"),
        ({"settings": {}}, "edited or damaged"),
        ({"seal": None}, "edited or damaged"),
        ({"format": "something/2"}, "expected 'spade_pyserini.vectors/1'"),
    ],
)
def test_an_edited_manifest(vectors: Path, change: dict[str, object], message: str) -> None:
    path = manifest_path(vectors)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises((ArtifactError, InputError), match=message):
        VectorManifest.load(vectors)


def test_a_manifest_that_is_not_utf8(vectors: Path) -> None:
    manifest_path(vectors).write_bytes(b'{"format": "\xff"}')
    with pytest.raises(ArtifactError, match="damaged or cut off; create it again"):
        verify(vectors)


def test_a_manifest_that_is_not_json(vectors: Path) -> None:
    manifest_path(vectors).write_text('{"format": ')
    with pytest.raises(ArtifactError, match="damaged or cut off; create it again"):
        verify(vectors)


def test_a_manifest_cannot_point_outside_its_folder(vectors: Path) -> None:
    manifest = VectorManifest.load(vectors)
    outside = replace(manifest.shards[0], file="../tiny.manifest.json")
    replace(manifest, shards=[outside]).save(vectors)
    with pytest.raises(ArtifactError, match="is not the name of a shard"):
        list(read_vectors(vectors))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "d", "vector": {"cat": NaN}}', "the impact of 'cat' is nan"),
        ('{"id": "d", "vector": {"cat": Infinity}}', "the impact of 'cat' is inf"),
        ('{"id": "d", "vector": {"cat": 2.7}}', "the impact of 'cat' is 2.7"),
        ('{"id": "d", "vector": {"cat": 0}}', "the impact of 'cat' is 0"),
        ('{"id": "d", "vector": {"cat": -3}}', "the impact of 'cat' is -3"),
        ('{"id": "d", "vector": {"cat": true}}', "the impact of 'cat' is True"),
        ('{"id": "d", "vector": {"two words": 3}}', "would split the term 'two words'"),
        ('{"id": "d", "vector": [1]}', "`vector` must be an object"),
        ('{"vector": {"cat": 1}}', "`id` must be the id of the document"),
        ('{"id": "d", "vector": {"cat": 1}', "not valid JSON"),
        ('{"id": "d", "vector": {"cat": 1, "cat": 2}}', "the key 'cat' occurs twice"),
    ],
)
def test_a_vector_that_anserini_would_change_silently(
    tmp_path: Path, line: str, message: str
) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text('{"id": "fine", "vector": {"cat": 1}}\n' + line + "\n")
    with pytest.raises(InputError, match=message) as error:
        list(read_shard(path))
    assert f"{path}:2:" in str(error.value)


def test_the_index_command_reports_a_stray_file(
    vectors: Path, tmp_path: Path, run: Commands
) -> None:
    (vectors / "notes.txt").write_text("x")
    result = run("index", "--input", vectors, "--output", tmp_path / "index")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("error: ")
    assert "notes.txt is not in the manifest" in result.err
    assert not (tmp_path / "index").exists()
