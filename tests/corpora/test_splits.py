from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini import read_qrels, read_topics
from spade_pyserini.corpora.qrels import relevance_level
from spade_pyserini.corpora.splits import resolve_split
from spade_pyserini.corpora.topics import topics_name
from spade_pyserini.errors import NotFoundError
from tests.conftest import shared_data


def test_any_folder_in_beirs_form_has_splits(folder: Path) -> None:
    assert [topic.qid for topic in read_topics(folder / "test")] == ["q1"]
    assert read_qrels(str(folder / "test")) == {"q1": {"d1": 1}}
    assert topics_name(folder / "test") == "scifact-test"
    (folder / "queries.jsonl").unlink()
    with pytest.raises(NotFoundError, match=r"has neither queries\.jsonl"):
        read_topics(folder / "test")


def test_relevance_levels(tmp_path: Path) -> None:
    assert relevance_level("dl19-passage") == 2
    assert relevance_level("msmarco/dl20") == 2
    assert relevance_level("dl19-doc") == 1
    assert relevance_level("scifact/test") == 1
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n")
    assert relevance_level(tmp_path / "qrels.txt") == 1
    assert relevance_level(shared_data("msmarco-dl19-20-pool") / "dl19") == 2


def test_an_unknown_name_is_no_split() -> None:
    assert resolve_split("zzzzzzz") is None
