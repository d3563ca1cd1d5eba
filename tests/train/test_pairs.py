"""Pairs of queries and texts, divided into queries, judgements and documents."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from spade_pyserini import open_corpus
from spade_pyserini.corpora.fields import FieldChoice
from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.corpora.topics import read_topics
from spade_pyserini.errors import InputError
from spade_pyserini.records import Document, Topic
from spade_pyserini.train.pairs import PairFields, split_pairs
from tests.commands import Commands

ROWS = [("red  fish", "A fish"), ("a dog", "The dog"), ("red fish", "The river")]
FORMS = {
    "p.csv": "question,answer\n" + "".join(f"{q},{a}\n" for q, a in ROWS),
    "p.tsv": "Question\tAnswer\n" + "".join(f"{q}\t{a}\n" for q, a in ROWS),
    "plain.tsv": "".join(f"{q}\t{a}\n" for q, a in ROWS),
    "p.jsonl": "".join(json.dumps({"query": q, "text": a}) + "\n" for q, a in ROWS),
    "p.json": json.dumps([{"anchor": q, "positive": a} for q, a in ROWS]),
}


@pytest.mark.parametrize("name", FORMS)
def test_all_forms(tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    (tmp_path / name).write_text(FORMS[name])
    files = split_pairs(tmp_path / name, tmp_path / "out")
    assert read_topics(files.queries) == [Topic("q1", "red fish"), Topic("q2", "a dog")]
    assert read_qrels(files.qrels) == {"q1": {"p1": 1, "p3": 1}, "q2": {"p2": 1}}
    texts = [Document(f"p{n}", "", text) for n, (_, text) in enumerate(ROWS, start=1)]
    assert list(open_corpus(str(files.corpus))) == texts
    assert "queries from `" in caplog.text and "3 pairs, 2 queries, 3 documents" in caplog.text


def test_a_folder_of_tables(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number, (query, answer) in enumerate(ROWS):
        (tmp_path / "in" / f"{number}.csv").write_text(f"query,text\n{query},{answer}\n")
    assert len(read_topics(split_pairs(tmp_path / "in", tmp_path / "out").queries)) == 2


def test_chosen_columns_ids_titles_and_grades(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("words,code,title,a,b,label\nred,x1,T,one,two,2\nblue,x1,T,one,two,0\n")
    choice = FieldChoice("code", None, ("a", "b"))
    files = split_pairs(path, tmp_path / "out", PairFields("words"), choice)
    assert list(open_corpus(str(files.corpus))) == [Document("x1", "T", "one two")]
    assert read_qrels(files.qrels) == {"q1": {"x1": 2}, "q2": {"x1": 0}}


def test_chosen_grades_and_no_grades(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("query,text,label,note\nred,a fish,0,2\n")
    files = split_pairs(path, tmp_path / "a", PairFields(grade="note"))
    assert read_qrels(files.qrels) == {"q1": {"p1": 2}}
    files = split_pairs(path, tmp_path / "b", PairFields(grade=""))
    assert read_qrels(files.qrels) == {"q1": {"p1": 1}}


def test_with_a_corpus_the_pairs_have_ids(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("query,code\nred,x1\n")
    (tmp_path / "goods.csv").write_text("code,info\nx1,a fish\n")
    choice = FieldChoice("code", None, ("info",))
    corpus = open_corpus(str(tmp_path / "goods.csv"), id_field="code", text_fields=["info"])
    files = split_pairs(path, tmp_path / "out", choice=choice, corpus=corpus)
    assert read_qrels(files.qrels) == {"q1": {"x1": 1}} and files.corpus is None
    with pytest.raises(InputError, match=r"no column of document ids .*leave out corpus=PATH"):
        split_pairs(path, tmp_path / "out", corpus=corpus)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("p.csv", "a,b\nx,y\n", "no column of queries .* among `a`, `b`; name it with query_field"),
        ("p.csv", "query,b\nx,y\n", "no column of texts .* among `query`, `b`; name it with"),
        ("p.csv", "query,text\n", "contains no pair"),
        ("p.csv", "query,text\nx,y\n,z\n", r"p\.csv:3: the query in `query` is empty"),
        ("p.csv", "query,text\nx,\n", r"p\.csv:2: no text in `text`"),
        ("p.csv", "query,text,label\nx,y,0.7\n", r"p\.csv:2: the grade '0\.7' is not an integer"),
        ("p.csv", "query,sku,text\nx,1,y\nz,1,w\n", "'1' has two different texts"),
        ("p.csv", "query,sku,text\nx,a b,y\n", r"p\.csv:2: .*white space"),
        ("p.tsv", "x\ty\nz\n", r"p\.tsv:2: expected `query <tab> text`, found 1 columns"),
        ("p.pdf", "x", "the format of the pairs is not known"),
        ("p.jsonl", '{"query": "\\ud800", "text": "x"}\n', r"p\.jsonl:1: .*surrogate"),
    ],
)
def test_pairs_with_faults(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        split_pairs(tmp_path / name, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_column_that_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("query,text\nx,y\n")
    with pytest.raises(InputError, match="there is no column 'words'; the columns are `query`"):
        split_pairs(tmp_path / "p.csv", tmp_path / "out", PairFields("words"))


def test_pairs_whose_document_is_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, run: Commands
) -> None:
    goods, clicks = tmp_path / "goods.csv", tmp_path / "clicks.csv"
    goods.write_text("sku,text\nP1,lamp\nP2,desk\n")
    clicks.write_text("query,sku\nlight,P1\ntable,P9\nlight,P8\nwork,P2\n")
    files = split_pairs(clicks, tmp_path / "out", corpus=open_corpus(str(goods)))
    assert f"{clicks}:3: {goods} has no document with the id 'P9'; 2 of 4 pairs" in caplog.text
    assert files.qrels.read_text() == "q1 0 P1 1\nq3 0 P2 1\n"
    assert files.queries.read_text() == "q1\tlight\nq3\twork\n"
    clicks.write_text("query,sku\nlight,p1\ntable,P9\n")
    call = ("finetune", "--corpus", goods, "--pairs", clicks, "--output", tmp_path / "mine")
    result = run(*call)
    assert result.code == 1
    assert f"{clicks}:2: {goods} has no document with the id 'p1'; each pair must" in result.err
    assert "such as 'P1'" in result.err
