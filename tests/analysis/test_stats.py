"""Statistics of an index."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from spade_pyserini import read_vectors
from spade_pyserini.analysis.stats import index_stats
from spade_pyserini.encode.counts_file import FORMAT
from spade_pyserini.formats.sealed_json import write_sealed
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


def test_terms_that_the_model_adds_to_many_documents(
    tiny_index: Path, tiny_vectors: Path, tmp_path: Path, run: Commands
) -> None:
    """A term of many vectors is noise if no text has it, but not if the texts have it, too."""
    vectors = [vector.impacts for vector in read_vectors(tiny_vectors)]
    numbers = Counter(term for vector in vectors for term in vector)
    term, most = numbers.most_common(1)[0]
    assert most > 0.3 * len(vectors)
    for name, terms in (("noise", {}), ("own", dict(numbers))):
        values = {"format": FORMAT, "documents": len(vectors), "terms": terms}
        write_sealed(tmp_path / name, values)
    noisy = run("stats", tiny_index, "--counts", tmp_path / "noise")
    assert "of the document vectors, but in few of the texts" in noisy.err
    assert f"{term} ({most / len(vectors):.0%}, contained in 0.0%)" in noisy.err
    assert "`spade encode --corpus-gamma 0.25` removes such terms" in noisy.err
    assert "removes such terms" not in run("stats", tiny_index, "--counts", tmp_path / "own").err
    unknown = run("stats", tiny_index)
    assert "(it is not known how many texts contain each term): " in unknown.err
    assert "--counts FILE shows which of them the model added" in unknown.err
