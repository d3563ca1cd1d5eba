"""Every command with ``--corpus`` reads a CSV file whose columns have unusual names.

`encode`, `index`, `finetune` and `export` are tested in other files.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spade_pyserini import Hit, Ranking, SpadeModel, encode_corpus, open_corpus, read_run, write_run
from spade_pyserini.encode import EncodeOptions
from tests.baselines.test_expand import save_t5
from tests.baselines.test_rerank import save_cross_encoder
from tests.commands import Commands

FIELDS = ("--id-field", "code", "--title-field", "name", "--text-fields", "info", "color")
DOCIDS = [f"A{number}" for number in range(6)]
COLORS = ["red", "blue", "green"]


@pytest.fixture
def goods(tmp_path: Path) -> Path:
    """Six products with columns that cannot be guessed, two topics, judgements and a run."""
    words = ["the old cat", "a big dog", "the fish eats", "a bird sings", "new tree", "house"]
    rows = [
        f"{docid},{text.split()[-1]},{text} in the river,{COLORS[number % 3]}\n"
        for number, (docid, text) in enumerate(zip(DOCIDS, words, strict=True))
    ]
    (tmp_path / "goods.csv").write_text("code,name,info,color\n" + "".join(rows))
    (tmp_path / "topics.csv").write_text("qid,query\n1,old cat\n2,big red dog\n")
    (tmp_path / "qrels.csv").write_text("qid,docid,grade\n1,A0,1\n2,A1,1\n")
    hits = [Hit(docid, 9 - rank) for rank, docid in enumerate(DOCIDS)]
    write_run([Ranking("1", hits), Ranking("2", hits)], tmp_path / "run.txt")
    return tmp_path


def corpus_of(goods: Path) -> tuple[object, ...]:
    return ("--corpus", goods / "goods.csv", *FIELDS)


def judged(goods: Path) -> tuple[object, ...]:
    return ("--topics", goods / "topics.csv", "--qrels", goods / "qrels.csv")


@pytest.mark.parametrize(
    "call",
    [
        "dense --topics pydoc/dev",
        "expand --model m --output o.jsonl",
        "breakdown --topics TOPICS --qrels QRELS --run RUN",
        "rerank --topics TOPICS --run RUN --model m",
        "report --qrels QRELS --run RUN --output o.html",
        "explain --docid A1",
    ],
)
def test_columns_that_cannot_be_guessed_are_explained(
    goods: Path, call: str, run: Commands
) -> None:
    for name, file in (("TOPICS", "topics.csv"), ("QRELS", "qrels.csv"), ("RUN", "run.txt")):
        call = call.replace(name, str(goods / file))
    result = run(*call.split(), "--corpus", goods / "goods.csv")
    assert result.code == 1
    assert "among the columns `code`, `name`, `info`, `color`" in result.err
    assert "--text-fields COLUMN" in result.err
    assert "Traceback" not in result.err


def test_a_table_without_a_header(tmp_path: Path, run: Commands) -> None:
    path = tmp_path / "goods.csv"
    path.write_text("A0,old lamp,740.04\nA1,new lamp,12.50\n")
    message = "the first line looks like data, not like a header; add a line with the names"
    for fields in ((), ("--id-field", "740.04", "--text-fields", "old lamp")):
        result = run("encode", "--corpus", path, *fields, "--output", tmp_path / "v")
        assert result.code == 1
        assert f"{path}:1: {message}" in result.err
    named = ("--id-field", "A0", "--text-fields", "old lamp")
    assert message in run("explain", "--corpus", path, *named, "--docid", "A7").err
    run_file = tmp_path / "run.txt"
    run_file.write_text("1 Q0 A0 1 1 x\n")
    assert message in run("evaluate", "--qrels", path, "--run", run_file).err
    path.write_text(",0,1\n0,A0,lamp\n")  # pandas writes numbers for columns without names
    assert message not in run("encode", "--corpus", path, "--output", tmp_path / "v").err


def test_names_of_columns_with_commas(goods: Path, run: Commands) -> None:
    fields = ("--id-field", "code", "--text-fields", "info,color")
    result = run("encode", "--corpus", goods / "goods.csv", *fields, "--output", goods / "v")
    assert result.code == 1
    assert "separate names by spaces, not by commas: info color" in result.err


def test_dense(goods: Path, run: Commands) -> None:
    flags = ("--index", goods / "dense", "--output", goods / "dense.txt")
    result = run("dense", *corpus_of(goods), "--topics", goods / "topics.csv", *flags)
    assert result.code == 0, result.err
    assert "title from `name`, text from `info` and `color`" in result.err
    assert {hit.docid for hit in read_run(goods / "dense.txt")[0].hits} == {*DOCIDS}


def test_expand(goods: Path, tiny_backbone: Path, run: Commands) -> None:
    model = save_t5(tiny_backbone, goods / "t5")
    flags = ("--model", model, "--per-doc", 2, "--max-new-tokens", 4)
    result = run("expand", *corpus_of(goods), *flags, "--output", goods / "queries.jsonl")
    assert result.code == 0, result.err
    lines = (goods / "queries.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == DOCIDS


def test_rerank(goods: Path, tiny_backbone: Path, run: Commands) -> None:
    model = save_cross_encoder(tiny_backbone, goods / "cross")
    flags = ("--run", goods / "run.txt", "--model", model, "--depth", 6)
    result = run("rerank", *corpus_of(goods), *judged(goods), *flags)
    assert result.code == 0, result.err
    assert "MRR@10" in result.out
    assert {hit.docid for hit in read_run(goods / "run.rerank-6.txt")[0].hits} == {*DOCIDS}


def test_breakdown_and_report(goods: Path, run: Commands) -> None:
    runs = ("--run", goods / "run.txt", *judged(goods))
    result = run("breakdown", *corpus_of(goods), *runs)
    assert result.code == 0, result.err
    assert "(1)" in result.out  # one topic, whose document has all words of "old cat"
    page = run("report", *corpus_of(goods), *runs, "--output", goods / "page.html")
    assert page.code == 0, page.err
    assert "the old cat in the river red" in (goods / "page.html").read_text()


def test_explain(goods: Path, tiny_model_folder: Path, run: Commands) -> None:
    flags = ("--docid", "A0", "--model", tiny_model_folder, "--query", "old red cat")
    result = run("explain", *corpus_of(goods), *flags)
    assert result.code == 0, result.err
    assert "old" in result.out and "red" in result.out


@pytest.mark.java
def test_sweep(goods: Path, tiny_model: SpadeModel, tiny_model_folder: Path, run: Commands) -> None:
    fields = {"id_field": "code", "title_field": "name", "text_fields": ["info", "color"]}
    corpus = open_corpus(str(goods / "goods.csv"), **fields)  # type: ignore[arg-type]
    encode_corpus(corpus, tiny_model, goods / "v", EncodeOptions(components=True))
    flags = ("--components", goods / "v", *judged(goods), "--output", goods / "sweep")
    result = run(
        "sweep",
        *flags,
        "--alpha",
        0.5,
        "--k",
        1,
        3,
        *corpus_of(goods),
        "--model",
        tiny_model_folder,
    )
    assert result.code == 0, result.err
    assert len((goods / "sweep" / "sweep.csv").read_text().splitlines()) == 3
    other = ("--corpus", goods / "goods.csv", "--id-field", "code", "--text-fields", "info")
    refused = run("sweep", *flags, "--k", 2, *other, "--model", tiny_model_folder)
    assert refused.code == 1 and "Traceback" not in refused.err
