"""Statistics of an index."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spade_pyserini import read_vectors
from spade_pyserini.analysis.stats import index_stats
from tests.commands import Commands

pytestmark = pytest.mark.java


def test_figures_of_an_index(tiny_index: Path, tiny_vectors: Path, run: Commands) -> None:
    vectors = [vector.impacts for vector in read_vectors(tiny_vectors)]
    stats = index_stats(tiny_index, 2)
    assert stats["documents"] == 30
    assert stats["terms"] == len(set().union(*vectors))
    assert stats["postings"] == sum(map(len, vectors))
    assert stats["percentiles"]["50"] == sorted(map(len, vectors))[15]
    impacts = [impact for vector in vectors for impact in vector.values()]
    assert stats["impacts"] == {
        str(impact): impacts.count(impact) for impact in sorted(set(impacts))
    }
    most = stats["frequent"][0]
    assert most["documents"] == sum(most["term"] in vector for vector in vectors)
    assert most["impacts"] == sum(vector.get(most["term"], 0) for vector in vectors)

    shown = run("stats", tiny_index)
    assert run("stats", "--index", tiny_index).out == shown.out
    assert run("stats").code == run("stats", tiny_index, "--index", tiny_index).code == 2
    assert shown.code == 0
    assert "documents           30" in shown.out and most["term"] in shown.out
    assert json.loads(run("stats", tiny_index, "--json", "--frequent", 2).out) == stats
    assert run("stats", "nowhere").code == 1
