"""The catalogue: names of documents, topics and judgements, and where they come from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spade_pyserini import open_corpus, read_qrels, read_topics
from spade_pyserini.corpora import Segmentation, apply_transforms, catalogue, expanded, segmented
from spade_pyserini.corpora.catalogue import find_collection, find_split
from spade_pyserini.corpora.checks import Tolerance
from spade_pyserini.corpora.qrels import relevance_level
from spade_pyserini.corpora.splits import resolve_split
from spade_pyserini.corpora.topics import topics_name
from spade_pyserini.errors import InputError, NotFoundError, UsageError
from tests.commands import Commands
from tests.conftest import shared_data, write_corpus


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory with a small collection called scifact in BEIR's form."""
    place = write_corpus(tmp_path / "data" / "scifact", 5)
    queries = [{"_id": "q1", "text": "old cat"}, {"_id": "q2", "text": "not judged"}]
    (place / "queries.jsonl").write_text("".join(json.dumps(one) + "\n" for one in queries))
    (place / "qrels").mkdir()
    (place / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    monkeypatch.setenv("SPADE_DATA_DIR", str(tmp_path / "data"))
    return place


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
    found = find_collection(name)
    assert found is not None
    assert found.name == expected


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
    found = find_split(name)
    assert found is not None
    assert (found[0].name, found[1]) == expected


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


def test_any_folder_in_beirs_form_has_splits(folder: Path) -> None:
    assert [topic.qid for topic in read_topics(folder / "test")] == ["q1"]
    assert read_qrels(str(folder / "test")) == {"q1": {"d1": 1}}
    assert topics_name(folder / "test") == "scifact-test"
    (folder / "queries.jsonl").unlink()
    with pytest.raises(NotFoundError, match=r"has no queries\.jsonl"):
        read_topics(folder / "test")


def test_a_folder_of_the_data_directory_is_known_by_its_name(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPADE_DATA_DIR")
    data_dir = tmp_path / "data"
    folder.rename(data_dir / "my-faq")
    corpus = open_corpus("my-faq", data_dir=data_dir)
    assert (corpus.name, len(list(corpus))) == ("my-faq", 5)
    assert [topic.qid for topic in read_topics("my-faq/test", data_dir=data_dir)] == ["q1"]
    assert read_qrels("my-faq/test", data_dir=data_dir) == {"q1": {"d1": 1}}
    assert topics_name("my-faq/test", data_dir=data_dir) == "my-faq-test"
    assert relevance_level("my-faq/test", data_dir=data_dir) == 1
    pool = apply_transforms(corpus, pool=["my-faq/test"], data_dir=data_dir)
    assert [document.docid for document in pool] == ["d1"]
    queries = read_topics("my-faq/queries.jsonl", data_dir=data_dir)
    assert [topic.qid for topic in queries] == ["q1", "q2"]
    with pytest.raises(NotFoundError, match="has no split 'dev'; it has test"):
        read_qrels("my-faq/dev", data_dir=data_dir)
    with pytest.raises(NotFoundError, match="did you mean my-faq"):
        open_corpus("my-fag", data_dir=data_dir)
    with pytest.raises(NotFoundError, match="no corpus, folder or file"):
        open_corpus("my-faq")


def test_a_data_directory_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"data_dir=.*none: no such folder"):
        open_corpus("my-faq", data_dir=tmp_path / "none")


def test_relevance_levels(tmp_path: Path) -> None:
    assert relevance_level("dl19-passage") == 2
    assert relevance_level("msmarco/dl20") == 2
    assert relevance_level("dl19-doc") == 1
    assert relevance_level("scifact/test") == 1
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n")
    assert relevance_level(tmp_path / "qrels.txt") == 1
    assert relevance_level(shared_data("msmarco-dl19-20-pool") / "dl19") == 2


@pytest.mark.parametrize(
    ("name", "near"), [("scifcat", "scifact"), ("msmarko", "msmarco"), ("hotpot", "hotpotqa")]
)
def test_nearest_names_are_suggested(name: str, near: str) -> None:
    with pytest.raises(NotFoundError, match=f"did you mean .*{near}"):
        open_corpus(name)
    with pytest.raises(NotFoundError, match="lists all names"):
        read_topics("zzzzzzz")
    assert resolve_split("zzzzzzz") is None


def test_texts_on_hugging_face(tmp_path: Path) -> None:
    lines = [{"docid": f"d{n}", "title": "T", "passage": f"text {n}"} for n in range(3)]
    path = tmp_path / "set" / "train.jsonl"
    path.parent.mkdir()
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    found = list(open_corpus(f"hf:{tmp_path / 'set'}"))
    assert found[2] == ("d2", "T", "text 2")
    with pytest.raises(NotFoundError, match="has no split 'dev'; it has train"):
        list(open_corpus(f"hf:{tmp_path / 'set'}::dev"))
    path.write_text('{"x": 1}\n')
    with pytest.raises(InputError, match="no column of texts"):
        list(open_corpus(f"hf:{tmp_path / 'set'}"))
    path.write_text('{"text": null}\n{"text": "one"}\n')
    tolerance = Tolerance(1)
    assert list(open_corpus(f"hf:{tmp_path / 'set'}").documents(tolerance)) == [("1", "", "one")]
    assert ":1: no column of texts" in str(tolerance.errors[0])
    with pytest.raises(NotFoundError, match="cannot be had"):
        list(open_corpus("hf:nobody/nothing"))
    with pytest.raises(NotFoundError, match="hf://datasets/nobody/nothing: no such file or folder"):
        open_corpus("hf://datasets/nobody/nothing")  # an address of fsspec's


def test_passages(folder: Path) -> None:
    corpus = segmented(open_corpus(str(folder)), Segmentation.parse("4:2"))
    found = [document for document in corpus if document.docid.startswith("d1#")]
    whole = next(one for one in open_corpus(str(folder)) if one.docid == "d1")
    words = whole.text.split()
    assert [one.docid for one in found] == ["d1#0", "d1#1"]
    assert [one.text.split() for one in found] == [words[0:4], words[2:6]]
    assert {one.title for one in found} == {whole.title}
    for bad in ("4:5", "0", "x", "4:0"):
        with pytest.raises(UsageError, match="--segment takes"):
            Segmentation.parse(bad)
    (folder / "corpus.jsonl").write_text('{"_id": "a#1", "text": "x"}\n')
    with pytest.raises(InputError, match="the id 'a#1' holds '#'"):
        list(segmented(open_corpus(str(folder)), Segmentation(2, 2)))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("e.jsonl", '{"id": "d1", "predicted_queries": ["one two", "three", "four"]}\n'),
        ("e.tsv", "d1\tone two three\n"),
        ("e.txt", "\none two three\n\n\n\n"),
    ],
)
def test_expansions(folder: Path, tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    plain = list(open_corpus(str(folder)))
    found = list(expanded(open_corpus(str(folder)), tmp_path / name, 2))
    assert found[1].text == f"{plain[1].text} one two three"
    assert [found[0], *found[2:]] == [plain[0], *plain[2:]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.jsonl", '{"id": "d1"}\n', ":1: expected an `id` and a list of texts"),
        ("e.jsonl", '{"id": "d1", "queries": []}\n', "the expansion of 'd1' is empty"),
        ("e.tsv", "d1\ta\nd2\tb\nd1\tc\n", r"e\.tsv:3: the id 'd1' was used before; put its"),
        ("e.tsv", "zzz\tone\n", "no id in this file is one of the corpus"),
        ("e.txt", "one\n", "1 lines, but the corpus has more documents"),
        ("e.txt", "one\n" * 6, "more lines than the corpus's 5 documents"),
    ],
)
def test_bad_expansions(
    folder: Path, tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        list(expanded(open_corpus(str(folder)), tmp_path / name))
    with pytest.raises(UsageError, match="goes with --expansions"):
        apply_transforms(open_corpus(str(folder)), expansions_per_doc=3)


def test_the_command_lists_what_is_here(folder: Path, run: Commands) -> None:
    result = run("corpora")
    assert result.code == 0
    lines = {line.split()[0]: line for line in result.out.splitlines() if line.strip()}
    assert " yes " in lines["scifact"]
    assert " ir_datasets " in lines["msmarco"]
    assert "8,841,823" in lines["msmarco"]
    assert run("corpora", "--data-dir", folder / "nothing").code == 2
