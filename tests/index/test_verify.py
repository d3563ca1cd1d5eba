"""Verify an index."""

from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini import SpadeModel, encode_corpus, open_corpus
from spade_pyserini.errors import ArtifactError
from spade_pyserini.formats.index_manifest import IndexManifest
from spade_pyserini.index import build_foreign_index, verify_index
from spade_pyserini.lucene import jvm
from tests.commands import Commands, copy_artifact
from tests.conftest import write_corpus
from tests.index.conftest import GOOD, write_foreign

pytestmark = pytest.mark.java


def test_an_intact_index_is_verified(tiny_index: Path, tiny_vectors: Path) -> None:
    assert verify_index(tiny_index, tiny_vectors) == IndexManifest.load(tiny_index)
    assert verify_index(tiny_index, tiny_vectors, sample=3)


@pytest.mark.parametrize("ending", ["doc", "tim", "fdt", "dvd"])
def test_a_flipped_bit_is_detected(tiny_index: Path, tmp_path: Path, ending: str) -> None:
    index = copy_artifact(tiny_index, tmp_path)
    path = next(index.glob(f"*.{ending}"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    with pytest.raises(ArtifactError, match=r"damaged.*(checksum|[Cc]orrupt)"):
        verify_index(index)


def test_other_vectors_are_reported(
    tiny_index: Path, tiny_model: SpadeModel, tmp_path: Path, run: Commands
) -> None:
    corpus = open_corpus(str(write_corpus(tmp_path / "corpus", 12)))
    encode_corpus(corpus, tiny_model, tmp_path / "other")
    with pytest.raises(ArtifactError, match="was not built from"):
        verify_index(tiny_index, tmp_path / "other")
    assert run("index", "--verify", "--output", tiny_index).code == 0
    assert run("index", "--verify").code == 2


def test_a_lock_that_is_held_is_no_damage(tiny_index: Path, tmp_path: Path) -> None:
    index = copy_artifact(tiny_index, tmp_path)
    directory = jvm.java_class("org.apache.lucene.store.FSDirectory").open(
        jvm.java_class("java.nio.file.Paths").get(str(index))
    )
    held = directory.obtainLock("write.lock")
    try:
        assert verify_index(index).documents == 30
    finally:
        held.close()


def test_an_index_of_another_tool_is_checked(
    tiny_index: Path, tiny_vectors: Path, tmp_path: Path, run: Commands
) -> None:
    index = copy_artifact(tiny_index, tmp_path)
    (tmp_path / "tiny.manifest.json").unlink()
    assert run("index", "--verify", "--output", index).code == 0
    assert run("index", "--verify", "--output", index, "--input", tiny_vectors).code == 0
    path = next(index.glob("*.doc"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    result = run("index", "--verify", "--output", index)
    assert result.code == 1 and "damaged; Lucene's CheckIndex says" in result.err
    assert run("index", "--verify", "--output", tmp_path / "nowhere").code == 1


def test_a_half_written_index(tiny_index: Path, tmp_path: Path) -> None:
    index = copy_artifact(tiny_index, tmp_path)
    next(index.glob("segments_*")).unlink()
    with pytest.raises(ArtifactError, match=r"damaged.*no segment"):
        verify_index(index)


def test_foreign_vectors_are_compared_with_their_index(tmp_path: Path, run: Commands) -> None:
    source = write_foreign(tmp_path / "v", GOOD)
    build_foreign_index(source, tmp_path / "x")
    flags = ("--verify", "--output", tmp_path / "x", "--input", source)
    assert run("index", *flags).code == 0
    write_foreign(source, {**GOOD, "vector": {"cat": 4}})
    result = run("index", *flags)
    assert result.code == 1 and "was not built from" in result.err
    (tmp_path / "x.manifest.json").unlink()
    result = run("index", *flags)
    assert result.code == 1 and "the document 'a' differs from its vector" in result.err
