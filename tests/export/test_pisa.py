"""Export to PISA: PISA returns the same hits as Lucene."""

from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini import ImpactSearcher
from spade_pyserini.errors import OutputExistsError
from spade_pyserini.index import verify_index
from spade_pyserini.records import Topic
from tests.commands import Commands, copy_artifact
from tests.export.conftest import QUERIES, same_hits

pytestmark = pytest.mark.java


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("algorithm", ["maxscore", "block_max_wand"])
def test_pisa_returns_the_same_hits(tiny_index: Path, tmp_path: Path, algorithm: str) -> None:
    pytest.importorskip("pyterrier_pisa", reason="needs pip install 'spade_pyserini[pisa]'")
    from spade_pyserini.export.pisa import PisaSearcher, write_pisa

    assert write_pisa(tiny_index, tmp_path / "pisa") == 30
    with pytest.raises(OutputExistsError):
        write_pisa(tiny_index, tmp_path / "pisa")
    engine = PisaSearcher(tmp_path / "pisa", algorithm)
    topics = [Topic(str(number), text) for number, text in enumerate(QUERIES)]
    with ImpactSearcher(tiny_index) as searcher:
        for k in (3, 30):
            pairs = zip(
                searcher.batch_search(topics, k), engine.batch_search(topics, k), strict=True
            )
            for ours, theirs in pairs:
                assert ours.qid == theirs.qid
                same_hits(ours.hits, theirs.hits, k)


@pytest.mark.filterwarnings("ignore")
def test_a_pisa_index_is_replaced_when_the_new_one_is_complete(
    tiny_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyterrier_pisa", reason="needs pip install 'spade_pyserini[pisa]'")
    from spade_pyserini.export import pisa

    folder = tmp_path / "pisa"
    pisa.write_pisa(tiny_index, folder)
    assert pisa.write_pisa(tiny_index, folder, overwrite=True) == 30
    before = sorted(path.name for path in tmp_path.rglob("*"))
    monkeypatch.setattr(pisa.PisaSearcher, "search", _no_space)
    with pytest.raises(OSError, match="no space"):
        pisa.write_pisa(tiny_index, folder, overwrite=True)
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


def _no_space(*_: object) -> None:
    raise OSError("no space")


def test_pisa_replaces_nothing_but_a_pisa_index(
    tiny_index: Path, tmp_path: Path, run: Commands
) -> None:
    """These checks do not need an installed PISA."""
    thesis = tmp_path / "thesis" / "chapter1.tex"
    thesis.parent.mkdir()
    thesis.write_text("keep")
    index = copy_artifact(tiny_index, tmp_path)
    flags = ("--index", index, "--to", "pisa", "--overwrite")
    refused = run("export", *flags, "--output", thesis.parent)
    assert refused.code == 1 and "contains chapter1.tex" in refused.err
    assert thesis.read_text() == "keep"
    refused = run("export", *flags, "--output", index.parent / "x" / ".." / index.name)
    assert refused.code == 2 and "is the Lucene index itself" in refused.err
    assert verify_index(index).documents == 30
