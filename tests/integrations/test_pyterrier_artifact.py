"""PyTerrier opens our indexes as artifacts, and other packages of PyTerrier search them."""

from __future__ import annotations

import configparser
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas
import pytest

from spade_pyserini import ImpactSearcher, build_bm25_index, build_impact_index, encode_corpus
from spade_pyserini import open_corpus as open_documents
from spade_pyserini.lucene import jvm
from spade_pyserini.models.systems.loading import load_encoder
from tests.conftest import ROOT

pytestmark = [pytest.mark.java, pytest.mark.filterwarnings("ignore")]
# Words that Anserini's English analyzer does not change.
TOPICS = pandas.DataFrame({"qid": ["1", "2"], "query": ["old cat", "bird fish"]})


@pytest.fixture
def pt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """PyTerrier, with the entry points of this package's setup.cfg.

    The fixture writes the entry points, because an older installation may lack them.
    """
    jvm.start()
    reason = "needs pip install 'spade_pyserini[pyterrier]'"
    module = pytest.importorskip("pyterrier", reason=reason)
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    points = setup["options.entry_points"]
    groups = [f"[{name}]\n{points[name].strip()}\n" for name in points if "pyterrier" in name]
    assert len(groups) == 2
    metadata = tmp_path / "installed" / "spade_pyserini-0.1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: spade_pyserini\nVersion: 0.1.0"
    )
    (metadata / "entry_points.txt").write_text("\n".join(groups))
    monkeypatch.syspath_prepend(str(metadata.parent))
    yield module


def hits(index: Path, query: str, k: int = 5) -> list[tuple[str, float]]:
    with ImpactSearcher(index) as searcher:
        return [(hit.docid, float(hit.score)) for hit in searcher.search(query, k)]


def test_an_index_is_recognized(
    pt: Any, tiny_index: Path, tiny_corpus: Path, tmp_path: Path
) -> None:
    from spade_pyserini.integrations.pyterrier import SpadeIndex

    build_bm25_index(open_documents(str(tiny_corpus)), tmp_path / "bm25")
    for path in (tiny_index, tmp_path / "bm25"):
        index = pt.Artifact.load(str(path))
        assert isinstance(index, SpadeIndex) and len(index.retriever(3)(TOPICS)) == 6
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="No implementation found"):
        pt.Artifact.load(str(tmp_path / "empty"))


def test_a_package_is_complete(
    pt: Any, systems: dict[str, Path], tiny_corpus: Path, tmp_path: Path
) -> None:
    """A package has the tokenizer and the query weights, which are next to the index folder."""
    pytest.importorskip("lz4.frame", reason="needs lz4")
    encoder = load_encoder(systems["opensearch"], fold=False)
    encode_corpus(open_documents(str(tiny_corpus)), encoder, tmp_path / "vectors")
    index = tmp_path / "table"
    build_impact_index(tmp_path / "vectors", index)
    package = pt.Artifact.load(str(index)).build_package(str(tmp_path / "p.tar.lz4"), verbose=False)
    import lz4.frame

    with lz4.frame.open(package) as stream, tarfile.open(fileobj=stream) as archive:
        archive.extractall(tmp_path / "elsewhere", filter="data")
    again = pt.Artifact.load(str(tmp_path / "elsewhere"))
    found = again.retriever(5)(TOPICS)
    for qid, query in TOPICS.itertuples(index=False):
        rows = found[found["qid"] == qid]
        assert list(zip(rows["docno"], rows["score"], strict=True)) == hits(index, query)


def test_anserinis_class_opens_our_index(
    pt: Any, tiny_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`AnseriniIndex` runs in the JVM that this package starts.

    PyTerrier would download Terrier before it starts its own JVM, so the test tells PyTerrier
    that Java is already running.
    """
    import pyterrier.java._utils

    monkeypatch.setattr(pyterrier.java._utils, "_started", True)
    reason = "needs pip install 'spade_pyserini[anserini]'"
    module = pytest.importorskip("pyterrier_anserini", reason=reason)
    index = module.AnseriniIndex(str(tiny_index))
    assert index.num_docs() == 30
    tokens = [dict.fromkeys(query.split(), 1.0) for query in TOPICS["query"]]
    for frame in (TOPICS, TOPICS.assign(query_toks=tokens)):
        found = index.impact(num_results=5)(frame)
        for qid, query in TOPICS.itertuples(index=False):
            rows = found[found["qid"] == qid]
            wanted = hits(tiny_index, query)
            assert list(rows["docno"]) == [docid for docid, _ in wanted]
            assert list(rows["score"]) == pytest.approx([score for _, score in wanted], abs=1e-3)


def test_pisas_class_opens_our_export(pt: Any, tiny_index: Path, tmp_path: Path) -> None:
    reason = "needs pip install 'spade_pyserini[pisa]'"
    module = pytest.importorskip("pyterrier_pisa", reason=reason)
    from spade_pyserini.export.pisa import write_pisa

    write_pisa(tiny_index, tmp_path / "pisa")
    index = pt.Artifact.load(str(tmp_path / "pisa"))
    assert isinstance(index, module.PisaIndex)
    tokens = [dict.fromkeys(query.split(), 1.0) for query in TOPICS["query"]]
    found = index.quantized(num_results=5, toks_scale=1.0)(TOPICS.assign(query_toks=tokens))
    for qid, query in TOPICS.itertuples(index=False):
        scores = list(found[found["qid"] == qid]["score"])
        assert scores == pytest.approx([score for _, score in hits(tiny_index, query)], abs=1e-3)
