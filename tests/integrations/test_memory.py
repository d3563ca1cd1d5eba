"""Ranking in memory gives the same hits as an index of the documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini import ImpactSearcher, build_impact_index, encode_corpus, open_corpus, rank
from spade_pyserini.encode.counts_file import counts_path
from spade_pyserini.encode.options import EncodeOptions
from spade_pyserini.errors import InputError, UsageError
from spade_pyserini.integrations.memory import MemoryRanker
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.encoder import SpadeEncoder
from spade_pyserini.models.systems.loading import load_encoder
from spade_pyserini.records import Document

QUERIES = ["cat", "the old dog runs", "fish and bird and fish", "delete files", "", "zzz €"]
TEXTS = ["the old dog runs", "a bird sings in the green tree", "open the file"]


def build(corpus: Path, encoder: object, folder: Path, counts: Path | None = None) -> Path:
    options = EncodeOptions(counts=counts)
    encode_corpus(open_corpus(str(corpus)), encoder, folder / "vectors", options)  # type: ignore[arg-type]
    build_impact_index(folder / "vectors", folder / "index")
    return folder / "index"


def assert_same_hits(ranker: MemoryRanker, index: Path) -> None:
    with ImpactSearcher(index) as searcher:
        for query in QUERIES:
            hits = searcher.search(query, 100)
            assert [(hit.docid, hit.score) for hit in ranker.rank(query)] == hits
            for hit in ranker.rank(query, 3):
                assert hit.matched == searcher.matched_terms(query, hit.docid)
                assert sum(hit.matched.values()) == hit.score
        assert len(searcher.search("the cat", 100)) > 10


@pytest.mark.java
@pytest.mark.parametrize("name", ["tiny_model", "idf_model"])
def test_hits_are_those_of_an_index(
    name: str, tiny_corpus: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    model: SpadeModel = request.getfixturevalue(name)
    documents = list(open_corpus(str(tiny_corpus)))
    assert_same_hits(MemoryRanker(documents, model), build(tiny_corpus, model, tmp_path))


@pytest.mark.java
def test_a_model_without_a_scale_is_calibrated_in_the_same_way(
    tiny_model: SpadeModel, tiny_corpus: Path, tmp_path: Path
) -> None:
    encoder = SpadeEncoder(tiny_model).with_settings(scale=None)
    documents = list(open_corpus(str(tiny_corpus)))
    assert_same_hits(MemoryRanker(documents, encoder), build(tiny_corpus, encoder, tmp_path))


@pytest.mark.java
def test_models_of_other_systems(
    systems: dict[str, Path], tiny_corpus: Path, tmp_path: Path
) -> None:
    documents = list(open_corpus(str(tiny_corpus)))
    encoder = load_encoder(systems["opensearch"], fold=False)  # query terms keep their weights
    index = build(tiny_corpus, encoder, tmp_path)
    assert_same_hits(MemoryRanker(documents, encoder), index)


@pytest.mark.java
def test_document_frequencies_of_another_corpus(
    idf_model: SpadeModel, tiny_corpus: Path, tmp_path: Path
) -> None:
    """With the counts file of an index, documents get the same scores as in the index."""
    index = build(tiny_corpus, idf_model, tmp_path)
    few = list(open_corpus(str(tiny_corpus)))[:4]
    counts = counts_path(tmp_path / "vectors")
    with ImpactSearcher(index) as searcher:
        expected = dict(searcher.search("the cat and the dog", 100))
    counted = MemoryRanker(few, idf_model, counts=counts).rank("the cat and the dog")
    assert counted and all(expected[hit.docid] == hit.score for hit in counted)
    own = MemoryRanker(few, idf_model).rank("the cat and the dog")
    assert [hit.score for hit in own] != [hit.score for hit in counted]


def test_kinds_of_documents(tiny_model: SpadeModel, tiny_model_folder: Path) -> None:
    by_position = rank("the bird", TEXTS, tiny_model_folder)
    named = rank("the bird", dict(zip("abc", TEXTS, strict=True)), tiny_model)
    records = [Document(docid, "", text) for docid, text in zip("abc", TEXTS, strict=True)]
    assert {hit.text for hit in by_position} <= set(TEXTS)
    assert named == rank("the bird", records, tiny_model)
    assert [hit.docid for hit in by_position] == [str("abc".index(hit.docid)) for hit in named]
    assert rank("the bird", TEXTS, tiny_model, k=1) == by_position[:1]
    assert rank("the bird", [], tiny_model) == []


def test_wrong_calls(tiny_model: SpadeModel, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a single text; give a list"):
        rank("bird", "the bird", tiny_model)
    with pytest.raises(UsageError, match="document 1 is of type int"):
        rank("bird", ["bird", 2], tiny_model)  # type: ignore[list-item]
    with pytest.raises(InputError, match="documents:2: the id 'a' was used before"):
        rank("bird", [Document("a", "", "bird"), Document("a", "", "cat")], tiny_model)
    with pytest.raises(UsageError, match="number of hits must be from 1"):
        rank("bird", TEXTS, tiny_model, k=0)
    with pytest.raises(UsageError, match="not valid Unicode"):
        rank("\ud800", TEXTS, tiny_model)
    with pytest.raises(UsageError, match="does not use term counts"):
        rank("bird", TEXTS, tiny_model, counts=tmp_path / "x.counts.json")
