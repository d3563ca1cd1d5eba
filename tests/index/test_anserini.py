"""Anserini's IndexCollection in a child process."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from spade_pyserini import build_impact_index
from spade_pyserini.errors import ArtifactError
from spade_pyserini.index import IndexOptions, writing
from spade_pyserini.index.anserini import AnseriniInput, run_index_collection
from spade_pyserini.index.counts import lucene_counts
from tests.commands import copy_artifact

pytestmark = pytest.mark.java


def test_an_index_that_lost_documents_is_not_kept(
    tiny_vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anserini may lose documents and still exit with 0; in this test, a shard is missing.

    For example, it exits with 0 after it has indexed the first half of a truncated file.
    """
    real = run_index_collection

    def without_a_shard(source: AnseriniInput, index: Path, **options: Any) -> None:
        folder = copy_artifact(source.folder, tmp_path)
        (folder / "docs0001.jsonl.gz").unlink()
        real(source._replace(folder=folder), index, **options)

    monkeypatch.setattr(writing, "run_index_collection", without_a_shard)
    expected = r"/x: the index has 18 documents, but should have 30; the log of .*/x\.log$"
    with pytest.raises(ArtifactError, match=expected):
        build_impact_index(tiny_vectors, tmp_path / "index" / "x", IndexOptions(builder="anserini"))
    assert [path.name for path in (tmp_path / "index").iterdir()] == ["x.log"]


def test_anserini_does_not_outlive_us(tiny_vectors: Path, tmp_path: Path) -> None:
    """kill -9 of the index command kills the indexer, too; a second run completes the index."""
    command = [sys.executable, "-m", "spade_pyserini.index", "--input", str(tiny_vectors)]
    command += ["--output", str(tmp_path / "x"), "--builder", "anserini"]
    process = subprocess.Popen(command)
    log = tmp_path / "x.log"
    deadline = time.monotonic() + 60
    while not (log.exists() and _children(process.pid)):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    children = _children(process.pid)
    time.sleep(0.5)  # time for the child to ask the kernel to kill it when its parent dies
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
        pytest.skip("needs /proc, which only Linux has, to list child processes")
    return [int(child) for child in path.read_text().split()]


def test_an_indexer_that_writes_nothing(
    tiny_vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "run_index_collection", lambda *_, **__: None)
    with pytest.raises(ArtifactError, match="Lucene cannot open this index"):
        build_impact_index(tiny_vectors, tmp_path / "x", IndexOptions(builder="anserini"))
