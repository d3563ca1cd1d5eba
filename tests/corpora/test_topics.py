from __future__ import annotations

import json
from pathlib import Path

import pytest

from spade_pyserini import Topic, read_topics
from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.models.minilm import minilm_folder
from tests.commands import Commands
from tests.conftest import shared_data


def test_judged_topics_without_a_query(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "beir" / "qrels").mkdir(parents=True)
    (tmp_path / "beir" / "corpus.jsonl").write_text('{"_id": "d", "text": "a"}\n')
    (tmp_path / "beir" / "queries.jsonl").write_text('{"_id": "1", "text": "a"}\n')
    head = "query-id\tcorpus-id\tscore\n"
    (tmp_path / "beir" / "qrels" / "some.tsv").write_text(f"{head}1\td\t1\n77\td\t1\n")
    (tmp_path / "beir" / "qrels" / "none.tsv").write_text(f"{head}77\td\t1\n")
    assert read_topics(tmp_path / "beir" / "some") == [Topic("1", "a")]
    assert "1 of 2 judged topics have no query" in caplog.text
    with pytest.raises(InputError, match=r"queries\.jsonl: no topic has judgements in"):
        read_topics(tmp_path / "beir" / "none")


def test_an_unknown_name() -> None:
    with pytest.raises(NotFoundError, match="did you mean pydoc-test"):
        read_topics("pydoc-train")


def test_real_topics() -> None:
    folder = shared_data("msmarco-topics")
    assert len(read_topics(folder / "topics.msmarco-passage.dev-subset.txt")) == 6980
    assert len(read_topics(folder / "topics.dl19-passage.txt")) == 43
    assert len(read_topics(shared_data("scifact") / "queries.jsonl")) > 300


def test_the_command_writes_each_wordpiece_once(tmp_path: Path, run: Commands) -> None:
    topics = tmp_path / "t.jsonl"
    lines = [{"_id": "1", "text": "Delete the folder, delete it"}, {"_id": "2", "text": "[SEP]"}]
    topics.write_text("\n".join(map(json.dumps, lines)))
    output = tmp_path / "t.wp.tsv"
    arguments = ("--topics", topics, "--tokenizer", minilm_folder(), "--output", output)
    result = run("topics", *arguments)
    assert result.code == 0
    assert output.read_text() == "1\tdel ##ete the folder , it\n2\t[UNK]\n"
    assert "1 topics have no WordPiece: 2" in result.err
    assert run("topics", *arguments).code == 1
    assert run("topics", *arguments[:-1], tmp_path / "t.wp").code == 2
    assert run("topics", "--topics", topics, "--output", output).code == 2
