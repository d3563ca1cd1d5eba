"""The command `spade export`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands import Commands

pytestmark = pytest.mark.java


def test_calls_that_make_no_sense(
    tiny_index: Path, tiny_corpus: Path, tmp_path: Path, run: Commands
) -> None:
    assert run("export", "--index", tiny_index, "--to", "milvus").code == 2
    assert run("export", "--index", tiny_index, "--to", "ciff", "--uri", "x").code == 2
    assert run("export", "--to", "ciff").code == 2
    bm25 = tmp_path / "bm25"
    assert run("index", "--bm25", "--corpus", tiny_corpus, "--output", bm25).code == 0
    for engine in ("ciff", "opensearch"):
        result = run("export", "--index", bm25, "--to", engine, "--output", tmp_path / "x")
        assert result.code == 1 and "is a bm25 index, which has no impacts" in result.err
    assert run("export", "--index", "nowhere", "--to", "ciff").code == 1
    assert not Path("nowhere").exists()
