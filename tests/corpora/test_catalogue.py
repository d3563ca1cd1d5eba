"""The catalogue: names of collections, and of splits with topics and judgements."""

from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini import open_corpus, read_qrels, read_topics
from spade_pyserini.corpora import catalogue
from spade_pyserini.corpora.catalogue import find_collection, find_split
from spade_pyserini.errors import NotFoundError
from tests.commands import Commands


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("msmarco", "msmarco"),
        ("msmarco-v1-passage", "msmarco"),
        ("msmarco-passage", "msmarco"),
        ("beir-v1.0.0-scifact", "scifact"),
        ("beir/scifact", "scifact"),
        ("dbpedia", "dbpedia-entity"),
    ],
)
def test_collections_have_several_names(name: str, expected: str) -> None:
    collection = find_collection(name)
    assert collection is not None
    assert collection.name == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("scifact/test", ("scifact", "test")),
        ("beir-v1.0.0-scifact-test", ("scifact", "test")),
        ("beir/scifact/test", ("scifact", "test")),
        ("dl19-passage", ("msmarco", "dl19")),
        ("msmarco-passage-dev-subset", ("msmarco", "dev")),
        ("msmarco-passage/trec-dl-2020/judged", ("msmarco", "dl20")),
        ("pydoc-test", ("pydoc", "test")),
    ],
)
def test_splits_have_several_names(name: str, expected: tuple[str, str]) -> None:
    match = find_split(name)
    assert match is not None
    assert (match[0].name, match[1]) == expected


def test_every_dataset_is_known_to_ir_datasets() -> None:
    import ir_datasets

    for collection in catalogue().values():
        if collection.dataset:
            loaded = ir_datasets.load(collection.dataset)
            assert loaded.has_docs()
            assert loaded.metadata()["docs"]["count"] == collection.documents
        for names in collection.splits.values():
            if names:
                split = ir_datasets.load(names[0])
                assert split.has_queries()
                assert split.has_qrels()


def test_a_local_copy_is_found_by_name(folder: Path) -> None:
    assert len(list(open_corpus("beir/scifact"))) == 5
    assert open_corpus("beir/scifact").name == "scifact"
    assert [topic.qid for topic in read_topics("scifact/test")] == ["q1"]
    assert read_qrels("beir-v1.0.0-scifact-test") == {"q1": {"d1": 1}}
    with pytest.raises(NotFoundError, match="has no split 'train'; it has test"):
        read_topics("scifact/train")


@pytest.mark.parametrize(
    ("name", "near"), [("scifcat", "scifact"), ("msmarko", "msmarco"), ("hotpot", "hotpotqa")]
)
def test_nearest_names_are_suggested(name: str, near: str) -> None:
    with pytest.raises(NotFoundError, match=f"did you mean .*{near}"):
        open_corpus(name)
    with pytest.raises(NotFoundError, match="lists all names"):
        read_topics("zzzzzzz")


def test_the_command_lists_local_copies(folder: Path, run: Commands) -> None:
    result = run("corpora")
    assert result.code == 0
    lines = {line.split()[0]: line for line in result.out.splitlines() if line.strip()}
    assert " yes " in lines["scifact"]
    assert " ir_datasets " in lines["msmarco"]
    assert "8,841,823" in lines["msmarco"]
    assert run("corpora", "--data-dir", folder / "nothing").code == 2
