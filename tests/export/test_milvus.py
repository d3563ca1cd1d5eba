"""Export to Milvus: equal hits; the old collection stays until the new collection is complete."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spade_pyserini import ImpactSearcher
from spade_pyserini.errors import OutputExistsError, SpadeError
from spade_pyserini.index import build_foreign_index
from tests.commands import Commands
from tests.export.conftest import QUERIES, same_hits

pytestmark = pytest.mark.java


@pytest.mark.filterwarnings("ignore")
def test_milvus_returns_the_same_hits(tiny_index: Path, tmp_path: Path, run: Commands) -> None:
    pytest.importorskip("pymilvus", reason="needs pip install 'spade_pyserini[milvus]'")
    from spade_pyserini.export.milvus import MilvusSearcher

    flags = ("--index", tiny_index, "--to", "milvus", "--uri", tmp_path / "tiny.db")
    shown = run("export", *flags)
    assert shown.code == 0 and shown.out.split()[-1] == "tiny"
    again = run("export", *flags)
    assert again.code == 1 and "has a collection 'tiny' already" in again.err
    with ImpactSearcher(tiny_index) as searcher:
        engine = MilvusSearcher(str(tmp_path / "tiny.db"), "tiny", searcher.wordpieces)
        try:
            for text in QUERIES:
                same_hits(searcher.search(text, 5), engine.search(text, 5), 5)
        finally:
            engine.close()


@pytest.mark.filterwarnings("ignore")
def test_a_collection_stays_until_the_new_one_is_complete(
    tiny_index: Path, tmp_path: Path, run: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    pymilvus = pytest.importorskip("pymilvus", reason="needs 'spade_pyserini[milvus]'")
    uri, client = str(tmp_path / "tiny.db"), pymilvus.MilvusClient
    flags = ("--index", tiny_index, "--to", "milvus", "--uri", uri)
    assert run("export", *flags).code == 0
    real = client.insert

    def refuse(*_: object) -> None:
        raise pymilvus.MilvusException(message="quota exceeded")

    def lose_one(self: object, collection: str, rows: list[object]) -> Any:
        return real(self, collection, rows[1:])

    for insert, message in (
        (refuse, "reported an error: quota exceeded"),
        (lose_one, "has 29 of 30 documents"),
    ):
        monkeypatch.setattr(client, "insert", insert)
        failed = run("export", *flags, "--overwrite")
        assert failed.code == 1 and message in failed.err and "Traceback" not in failed.err
    monkeypatch.setattr(client, "insert", real)
    connection = client(uri)
    try:
        assert connection.list_collections() == ["tiny"]
        assert connection.get_collection_stats("tiny")["row_count"] == 30
    finally:
        connection.close()
    assert run("export", *flags, "--overwrite").code == 0


@pytest.mark.filterwarnings("ignore")
def test_a_collection_that_cannot_be_renamed(
    tiny_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old collection keeps its name, or gets it back after a kill between two renames."""
    pymilvus = pytest.importorskip("pymilvus", reason="needs 'spade_pyserini[milvus]'")
    from spade_pyserini.export.milvus import write_milvus

    uri, client = str(tmp_path / "tiny.db"), pymilvus.MilvusClient
    write_milvus(tiny_index, uri, "tiny")
    real = client.rename_collection

    def refuse(self: object, old: str, new: str) -> None:
        if old == "tiny_building":
            raise pymilvus.MilvusException(message="not now")
        real(self, old, new)

    monkeypatch.setattr(client, "rename_collection", refuse)
    with pytest.raises(SpadeError, match="reported an error: not now"):
        write_milvus(tiny_index, uri, "tiny", overwrite=True)
    monkeypatch.setattr(client, "rename_collection", real)
    connection = client(uri)
    try:
        assert connection.list_collections() == ["tiny"]
        assert connection.get_collection_stats("tiny")["row_count"] == 30
        connection.rename_collection("tiny", "tiny_being_replaced")
    finally:
        connection.close()
    with pytest.raises(OutputExistsError):
        write_milvus(tiny_index, uri, "tiny")
    assert write_milvus(tiny_index, uri, "tiny", overwrite=True) == 30


def test_names_and_ids_that_milvus_does_not_accept(
    tiny_index: Path, tmp_path: Path, run: Commands
) -> None:
    """Names and ids are checked first, so this needs no Milvus."""
    (tmp_path / "v").mkdir()
    vector = {"id": "x" * 600, "vector": {"cat": 1}}
    (tmp_path / "v" / "a.jsonl").write_text(json.dumps(vector))
    tokenizer = tiny_index.with_name("tiny.tokenizer.json")
    build_foreign_index(tmp_path / "v", tmp_path / "x", tokenizer)
    flags = ("--to", "milvus", "--uri", tmp_path / "x.db")
    named = run("export", "--index", tiny_index, *flags, "--collection", "2tiny")
    assert named.code == 2 and "choose another collection" in named.err
    long = run("export", "--index", tmp_path / "x", *flags)
    assert long.code == 1 and "is longer than 512 bytes" in long.err
    assert not (tmp_path / "x.db").exists()
