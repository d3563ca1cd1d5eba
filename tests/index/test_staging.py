"""Indexes are built in a staging folder; an existing output is replaced only if it is an index."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from spade_pyserini import build_impact_index
from spade_pyserini.errors import OutputExistsError
from spade_pyserini.formats.index_manifest import IndexManifest, manifest_path
from spade_pyserini.index import IndexOptions, build_foreign_index
from spade_pyserini.index.counts import lucene_counts
from spade_pyserini.index.staging import log_path
from tests.commands import copy_artifact

pytestmark = pytest.mark.java


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
    with pytest.raises(
        OutputExistsError, match=r"other options \(different: input\); pass overwrite=True"
    ):
        build_impact_index(tiny_vectors, index)
    manifest_path(index).unlink()
    with pytest.raises(OutputExistsError, match="exists already"):
        build_impact_index(tiny_vectors, index)
    assert list(index.glob("segments_*"))
    build_impact_index(tiny_vectors, index, IndexOptions(optimize=True, threads=2), overwrite=True)
    new = IndexManifest.load(index)
    assert new == replace(manifest, optimized=True, commit=new.commit)


@pytest.mark.parametrize("option", ["builder", "tokenizer"])
def test_an_index_built_in_another_way_is_refused(
    tiny_index: Path, tmp_path: Path, option: str
) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "a.jsonl").write_text('{"id": "a", "vector": {"cat": 1}}')
    source, output = tmp_path / "v", tmp_path / "x"
    manifest = build_foreign_index(source, output)
    tokenizer = tiny_index.with_name("tiny.tokenizer.json") if option == "tokenizer" else None
    options = IndexOptions(builder="anserini") if option == "builder" else None
    with pytest.raises(OutputExistsError, match=rf"different: {option}\); pass overwrite=True"):
        build_foreign_index(source, output, tokenizer, options)
    assert build_foreign_index(source, output) == manifest


def test_a_damaged_index_is_built_again(
    tiny_index: Path, tiny_vectors: Path, tmp_path: Path
) -> None:
    index = copy_artifact(tiny_index, tmp_path)
    next(index.glob("segments_*")).unlink()
    build_impact_index(tiny_vectors, index)
    assert lucene_counts(index).documents == 30


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_folder_that_is_not_an_index_is_never_replaced(
    tiny_vectors: Path, tmp_path: Path, overwrite: bool
) -> None:
    (tmp_path / "file").write_text("keep")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.txt").write_text("keep")
    with pytest.raises(OutputExistsError, match="is a file"):
        build_impact_index(tiny_vectors, tmp_path / "file", overwrite=overwrite)
    with pytest.raises(OutputExistsError, match=r"thesis\.txt, which is not a file of an index"):
        build_impact_index(tiny_vectors, tmp_path / "folder", overwrite=overwrite)
    assert (tmp_path / "folder" / "thesis.txt").read_text() == "keep"


def test_the_log_of_a_killed_build_is_removed(tiny_vectors: Path, tmp_path: Path) -> None:
    build_impact_index(tiny_vectors, tmp_path / "x")
    log_path(tmp_path / "x").write_text("the index was complete, its log not removed yet")
    build_impact_index(tiny_vectors, tmp_path / "x")
    assert not log_path(tmp_path / "x").exists()
