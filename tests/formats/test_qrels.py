from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini.errors import InputError
from spade_pyserini.formats.qrels import read_qrels_files
from tests.conftest import shared_data


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 0 a 1\n1 0 b\n", r":2: expected `qid 0 docid grade`, found 3 columns"),
        ("1 0 a one\n", r":1: the grade 'one' is not an integer"),
        (f"1 0 a {10**20}\n", r":1: the grade '1000.*' is not an integer"),
        ("1 0 a 1\n1 0 a 2\n", ":2: topic 1 has two grades for a"),
        ("query-id\tcorpus-id\tscore\n1\ta\t1\n1 a\n", r":3: expected `qid docid grade`"),
        ("", "contains no judgement"),
    ],
)
def test_malformed_qrels(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "q.txt").write_text(content)
    with pytest.raises(InputError, match=message):
        read_qrels_files([tmp_path / "q.txt"])


def test_beirs_qrels(tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t1\n2\tb\t2\n")
    assert read_qrels_files([tmp_path / "test.tsv"]) == {"1": {"a": 1}, "2": {"b": 2}}
    assert len(read_qrels_files([shared_data("scifact") / "qrels" / "test.tsv"])) == 300


def test_every_file_has_judgements(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1 0 a 1\n")
    (tmp_path / "b.txt").write_text("")
    with pytest.raises(InputError, match=r"b\.txt: the file contains no judgement"):
        read_qrels_files([tmp_path / "a.txt", tmp_path / "b.txt"])
