from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from spade_pyserini import Document, open_corpus
from spade_pyserini.errors import InputError, NotFoundError
from tests.commands import Commands
from tests.conftest import shared_data


def write(path: Path, *lines: object) -> Path:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


BEIR = {"_id": "d1", "title": "A title", "text": "Some text", "metadata": {}}
PYSERINI = {"id": "d1", "contents": "Some text"}


def test_the_three_forms_give_the_same_records(tmp_path: Path) -> None:
    beir = tmp_path / "beir"
    beir.mkdir()
    write(beir / "corpus.jsonl", BEIR)
    (beir / "qrels.tsv").write_text("ignored")
    assert list(open_corpus(str(beir))) == [Document("d1", "A title", "Some text")]
    pyserini = write(tmp_path / "docs.jsonl", PYSERINI)
    assert list(open_corpus(str(pyserini))) == [Document("d1", "", "Some text")]
    msmarco = write(tmp_path / "collection.tsv", "d1\tSome text")
    assert list(open_corpus(str(msmarco))) == [Document("d1", "", "Some text")]


def test_gz_and_folders_of_several_files(tmp_path: Path) -> None:
    for name, docid in (("b.jsonl", "2"), ("a.jsonl.gz", "1")):
        line = json.dumps({"id": docid, "contents": "x"}).encode()
        (tmp_path / name).write_bytes(gzip.compress(line) if name.endswith("gz") else line)
    assert [document.docid for document in open_corpus(str(tmp_path))] == ["1", "2"]


def test_names_of_local_corpora_come_from_the_path(tmp_path: Path) -> None:
    write(tmp_path / "my corpus.jsonl", PYSERINI)
    assert open_corpus(str(tmp_path / "my corpus.jsonl")).name == "my-corpus"
    assert open_corpus("msmarco", tmp_path / "my corpus.jsonl").name == "msmarco"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"_id": "d2", "text": ', "not valid JSON"),
        ('["d2"]', "a JSON object was expected, found list"),
        ({"text": "no id"}, "needs its id"),
        ({"_id": None, "text": "x"}, "needs its id"),
        ({"_id": "d2"}, "needs its text"),
        ({"_id": "d2", "text": 7}, "needs its text"),
        ({"_id": "", "text": "x"}, "the id is empty"),
        ({"_id": "d 2", "text": "x"}, "white space or control"),
        ({"_id": "d2\n1 Q0 d9 1 99 forged", "text": "x"}, "white space or control"),
        ({"_id": "d\x002", "text": "x"}, "white space or control"),
        ({"_id": "d1", "text": "x"}, "was used before"),
        ({"_id": "d" * 2000, "text": "x"}, "the id has 2000 characters"),
        ({"_id": "d2", "text": "x", "title": 0}, "the title 0 is not a string"),
        ('{"_id": "d2", "text": "x", "text": "y"}', "the key 'text' occurs twice"),
        ('{"_id": ' + "7" * 5000 + ', "text": "x"}', "invalid JSON"),
        ('{"_id": "d2", "text": ' + "[" * 100_000, "not valid JSON|nested too deeply"),
        ('{"_id": "d2", "text": "\\ud800"}', "surrogate"),
    ],
)
def test_a_bad_line_is_named_with_its_cure(tmp_path: Path, line: object, message: str) -> None:
    path = write(tmp_path / "corpus.jsonl", BEIR, line)
    with pytest.raises(InputError, match=message) as error:
        list(open_corpus(str(path)))
    assert f"{path}:2:" in str(error.value)


def test_a_collection_line_without_tab(tmp_path: Path) -> None:
    path = write(tmp_path / "collection.tsv", "1\tfine", "2 no tab")
    with pytest.raises(InputError, match=r"collection\.tsv:2: expected `id <tab> text`"):
        list(open_corpus(str(path)))


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "collection.tsv"
    path.write_bytes(b"1\tcaf\xe9\n")
    with pytest.raises(InputError, match=r"collection\.tsv:1: byte 5"):
        list(open_corpus(str(path)))


def test_an_empty_file_and_a_folder_without_corpus(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no corpus in this folder"):
        open_corpus(str(tmp_path))
    path = write(tmp_path / "corpus.jsonl")
    with pytest.raises(InputError, match="contains no document"):
        list(open_corpus(str(path)))


def test_all_files_of_a_folder_are_read(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    write(tmp_path / "b.tsv", "1\tone")
    write(tmp_path / "sub" / "c.tsv", "2\ttwo")
    assert [document.docid for document in open_corpus(str(tmp_path))] == ["1", "2"]
    write(tmp_path / "a.jsonl", PYSERINI)
    with pytest.raises(InputError, match=r"the folder has both a\.jsonl and b\.tsv"):
        open_corpus(str(tmp_path))


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(NotFoundError, match="did you mean pydoc"):
        open_corpus("pydocs")


def test_msmarco_without_network_says_where_to_put_the_file(
    run: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path))
    monkeypatch.setattr("socket.getaddrinfo", _no_network)
    result = run("index", "--bm25", "--corpus", "msmarco", "--output", tmp_path / "x")
    assert result.code == 1
    assert "give their path instead of the name" in result.err
    assert "--data-dir DIR" in result.err
    assert "Traceback" not in result.err


def _no_network(*_: object, **__: object) -> None:
    raise OSError("no network in this test")


def test_real_collections_are_read_completely() -> None:
    counts = {"scifact": 5183, "nfcorpus": 3633, "cacm": 3204}
    for name, count in counts.items():
        assert sum(1 for _ in open_corpus(str(shared_data(name)))) == count
