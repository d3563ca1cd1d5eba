from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from spade_pyserini import Topic, read_topics
from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.models.minilm import minilm_folder
from tests.commands import Commands
from tests.conftest import shared_data

EXPECTED = [Topic("7", "old cats"), Topic("x-1", "new dogs")]
TREC = """<top>
<num> Number: 7
<title> old
cats
<desc> Description: whatever
</top>

<top><num>x-1</num><title>new dogs</title></top>
"""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.tsv", "7\told cats\nx-1\tnew dogs\n"),
        ("t.txt", "7\told cats\r\n\r\nx-1\tnew dogs"),
        ("t.jsonl", '{"_id": "7", "text": "old cats"}\n{"qid": "x-1", "query": "new dogs"}\n'),
        ("t.json", '{"7": {"title": "old cats"}, "x-1": {"title": "new dogs"}}'),
        ("t.trec", TREC),
    ],
)
def test_all_forms_plain_and_gz(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    assert read_topics(tmp_path / name) == EXPECTED
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content.encode()))
    assert read_topics(tmp_path / f"{name}.gz") == EXPECTED


def test_a_title_with_signs(tmp_path: Path) -> None:
    text = "<top>\n<num> 7\n<title> sort if a < b\nthen <desc> whatever\n</top>\n"
    (tmp_path / "t.trec").write_text(text)
    assert read_topics(tmp_path / "t.trec") == [Topic("7", "sort if a < b then")]


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


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.tsv", "1\tfine\n2 no tab\n", r"t\.tsv:2: expected `id <tab> text`"),
        ("t.tsv", "1\tfine\n1\tagain\n", r"t\.tsv:2: the topic id '1' was used before"),
        ("t.tsv", "\tno id\n", r"t\.tsv:1: the topic id '' is not one word"),
        ("t.tsv", "a b\ttext\n", "is not one word"),
        ("t.tsv", "", "holds no topic"),
        ("t.jsonl", '{"_id": "1", "text": "a"}\n{"_id": "2"}\n', r"t\.jsonl:2: a topic needs"),
        ("t.jsonl", '{"_id": "1", "te', r"t\.jsonl:1: not valid JSON"),
        ("t.json", '{"1": "text"}', "topic '1' has no `title`"),
        ("t.trec", "<top>\n<num> 1\n</top>", r"t\.trec:1: a topic needs <num> and <title>"),
        ("t.json", '{"1": {"title": "a"}, "1": {"title": "b"}}', "the key '1' stands twice"),
        ("t.jsonl", '{"_id": "1", "text": "\\ud800"}', r"t\.jsonl:1: .* surrogate"),
        ("t.trec", "<top>\n<num> 1 <title> a\n<top>\n<num> 2 <title> b\n</top>", "no </top>"),
        ("t.trec", "<top><num> 1 <title> a</top>\n<top><num> 2 <title> b", r":2: .*no </top>"),
        ("t.csv", "1,a", "does not tell the form"),
    ],
)
def test_malformed_topics(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        read_topics(tmp_path / name)


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_bytes(b"1\tcaf\xe9\n")
    with pytest.raises(InputError, match=r"t\.tsv:1: byte 5"):
        read_topics(tmp_path / "t.tsv")


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
