from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pytest

from spade_pyserini import Topic
from spade_pyserini.errors import InputError
from spade_pyserini.formats.topics import read_topic_files, topic_file_stem

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
def test_all_forms_plain_and_compressed(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    assert read_topic_files([tmp_path / name]) == EXPECTED
    for suffix, compress in (
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
    ):
        (tmp_path / f"{name}{suffix}").write_bytes(compress(content.encode()))
        assert read_topic_files([tmp_path / f"{name}{suffix}"]) == EXPECTED


def test_a_title_with_a_less_than_sign(tmp_path: Path) -> None:
    text = "<top>\n<num> 7\n<title> sort if a < b\nthen <desc> whatever\n</top>\n"
    (tmp_path / "t.trec").write_text(text)
    assert read_topic_files([tmp_path / "t.trec"]) == [Topic("7", "sort if a < b then")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.tsv", "1\tfine\n2 no tab\n", r"t\.tsv:2: expected `id <tab> text`"),
        ("t.tsv", "1\tfine\n1\tagain\n", r"t\.tsv:2: the topic id '1' was used before"),
        ("t.tsv", "\tno id\n", r"t\.tsv:1: topic: the id is empty"),
        ("t.tsv", "a b\ttext\n", "white space or control"),
        ("t.tsv", "", "contains no topic"),
        ("t.jsonl", '{"_id": "1", "text": "a"}\n{"_id": "2"}\n', r"t\.jsonl:2: a topic needs"),
        ("t.jsonl", '{"_id": "1", "te', r"t\.jsonl:1: not valid JSON"),
        ("t.json", '{"1": "text"}', "topic '1' has no `title`"),
        ("t.trec", "<top>\n<num> 1\n</top>", r"t\.trec:1: a topic needs <num> and <title>"),
        ("t.json", '{"1": {"title": "a"}, "1": {"title": "b"}}', "the key '1' occurs twice"),
        ("t.jsonl", '{"_id": "1", "text": "\\ud800"}', r"t\.jsonl:1: .* surrogate"),
        ("t.trec", "<top>\n<num> 1 <title> a\n<top>\n<num> 2 <title> b\n</top>", "no </top>"),
        ("t.trec", "<top><num> 1 <title> a</top>\n<top><num> 2 <title> b", r":2: .*no </top>"),
        ("t.csv", "1,a", "unknown format of topics"),
    ],
)
def test_malformed_topics(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        read_topic_files([tmp_path / name])


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_bytes(b"1\tcaf\xe9\n")
    with pytest.raises(InputError, match=r"t\.tsv:1: byte 5"):
        read_topic_files([tmp_path / "t.tsv"])


def test_several_files_share_their_ids(tmp_path: Path) -> None:
    for name in ("a.tsv", "b.tsv"):
        (tmp_path / name).write_text("1\told cats\n")
    with pytest.raises(InputError, match=r"b\.tsv:1: the topic id '1' was used before"):
        read_topic_files([tmp_path / "a.tsv", tmp_path / "b.tsv"])


def test_the_stem_of_a_file() -> None:
    assert topic_file_stem(Path("dir/topics.dl19-passage.tsv.gz")) == "dl19-passage"
    assert topic_file_stem(Path("queries.v2.jsonl")) == "queries.v2"


def test_every_file_has_topics(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("1\told cats\n")
    (tmp_path / "b.tsv").write_text("\n")
    with pytest.raises(InputError, match=r"b\.tsv: the file contains no topic"):
        read_topic_files([tmp_path / "a.tsv", tmp_path / "b.tsv"])


def test_errors_in_json_name_the_topic(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{\n"1": {"title": "a"},\n"2": {"title": "\\ud800"}}')
    with pytest.raises(InputError, match=r"t\.json: topic '2' contains .* surrogate"):
        read_topic_files([tmp_path / "t.json"])
