"""Tables of judgements whose columns the user names, as arguments of `read_qrels`."""

from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini import read_qrels
from spade_pyserini.errors import InputError, UsageError

FIELDS = {"qrels_query_field": "anfrage", "qrels_doc_field": "artikel", "qrels_grade_field": "note"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("j.csv", "note;artikel;anfrage\n2;x;1\n0;y;1\n"),
        ("j.tsv", "note\tartikel\tanfrage\n2\tx\t1\n0\ty\t1\n"),
        ("j.txt", "note\tartikel\tanfrage\n2\tx\t1\n0\ty\t1\n"),
        (
            "j.jsonl",
            '{"note": 2, "artikel": "x", "anfrage": 1}\n{"note": 0, "artikel": "y", "anfrage": 1}',
        ),
    ],
)
def test_named_columns(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_qrels(tmp_path / name, **FIELDS) == {"1": {"x": 2, "y": 0}}
    every = read_qrels(tmp_path / name, **(FIELDS | {"qrels_grade_field": ""}))
    assert every == {"1": {"x": 1, "y": 1}}


def test_named_columns_are_not_guessed_again(tmp_path: Path) -> None:
    (tmp_path / "j.csv").write_text("query,id,label,score\nq,7,3,1\n")
    path = tmp_path / "j.csv"
    assert read_qrels(path) == {"q": {"7": 1}}
    assert read_qrels(path, qrels_grade_field="label") == {"q": {"7": 3}}
    with pytest.raises(InputError, match="no column for the ids of the documents among `query`"):
        read_qrels(path, qrels_query_field="id")


def test_faults(tmp_path: Path) -> None:
    (tmp_path / "j.tsv").write_text("anfrage\tartikel\tnote\n1\tx\t2\n")
    with pytest.raises(InputError, match=r"j\.tsv:1: .*; for other column names, give qrels_"):
        read_qrels(tmp_path / "j.tsv")
    with pytest.raises(InputError, match="there is no column 'sku'; the columns are `anfrage`"):
        read_qrels(tmp_path / "j.tsv", qrels_doc_field="sku")
    (tmp_path / "j.csv").write_text("anfrage,artikel,note\n1,x,good\n")
    with pytest.raises(InputError, match=r"j\.csv:2: the grade 'good' is not an integer"):
        read_qrels(tmp_path / "j.csv", **FIELDS)
    (tmp_path / "j.qrels").write_text("1 0 x 1\n")
    with pytest.raises(UsageError, match=r"j\.qrels has no named columns; leave out qrels_doc"):
        read_qrels(tmp_path / "j.qrels", qrels_doc_field="sku")
