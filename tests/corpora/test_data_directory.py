from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini import open_corpus, read_qrels, read_topics
from spade_pyserini.corpora import apply_transforms
from spade_pyserini.corpora.data_directory import (
    VARIABLE,
    collection_folder,
    local_collections,
    resolve_data_dir,
)
from spade_pyserini.corpora.qrels import relevance_level
from spade_pyserini.corpora.topics import topics_name
from spade_pyserini.errors import NotFoundError, UsageError


def test_a_folder_of_the_data_directory_is_known_by_its_name(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE)
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


def test_the_parameter_comes_before_the_variable(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert resolve_data_dir(None) == folder.parent
    assert resolve_data_dir(tmp_path) == tmp_path
    assert local_collections(None) == {"scifact": folder}
    assert local_collections(tmp_path) == {}
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none"))
    assert resolve_data_dir(None) is None


def test_only_names_of_folders_are_looked_up_in_the_data_directory(folder: Path) -> None:
    assert collection_folder("scifact", folder.parent) == folder
    for name in ("../data/scifact", "scifact/", str(folder), "none"):
        assert collection_folder(name, folder.parent) is None
    for name in ("", ".", ".."):
        assert collection_folder(name, folder) is None
