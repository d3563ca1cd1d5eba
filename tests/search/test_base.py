"""Checks that all searchers make: the number of hits, and the manifest of the index."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from spade_pyserini import ImpactSearcher
from spade_pyserini.errors import ArtifactError, UsageError
from spade_pyserini.formats.index_manifest import IndexManifest
from tests.commands import Commands, copy_artifact

pytestmark = pytest.mark.java


@pytest.mark.parametrize("hits", [0, -1, 1_000_000_000])
def test_hits_out_of_range(tiny_index: Path, run: Commands, hits: int) -> None:
    with (
        ImpactSearcher(tiny_index) as searcher,
        pytest.raises(UsageError, match="hits must be from 1"),
    ):
        searcher.search("cat", hits)
    result = run("search", "--index", tiny_index, "--query", "cat", "--hits", hits)
    assert result.code == 2
    assert "Traceback" not in result.err


def test_an_index_that_is_not_what_its_manifest_says(tiny_index: Path, tmp_path: Path) -> None:
    index = copy_artifact(tiny_index, tmp_path)
    replace(IndexManifest.load(index), documents=31).save(index)
    with pytest.raises(ArtifactError, match="30 documents, but its manifest says 31"):
        ImpactSearcher(index)
