"""Manifests record how a corpus was opened, and the corpus is opened again from this record."""

from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini.corpora import open_corpus
from spade_pyserini.corpora.recorded import open_recorded, record_source


def test_a_folder_with_the_name_of_a_collection_is_not_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pydoc").mkdir()
    (tmp_path / "pydoc" / "a.txt").write_text("other texts")
    recorded = record_source(open_corpus("pydoc"))
    assert recorded == {"corpus": "pydoc"}
    assert next(iter(open_recorded(recorded))).text != "other texts"


def test_a_path_is_recorded_as_an_absolute_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("some text")
    recorded = record_source(open_corpus("notes"))
    assert recorded == {"corpus": str(tmp_path / "notes")}
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    assert record_source(open_corpus("../notes")) == recorded
    (tmp_path / "link").symlink_to(tmp_path / "notes" / "deep")
    (tmp_path / "notes" / "deep").mkdir()
    assert record_source(open_corpus("../link/../a.txt")) == {
        "corpus": str(tmp_path / "notes" / "a.txt")
    }
    monkeypatch.chdir("/")
    assert [document.text for document in open_recorded(recorded)] == ["some text"]
