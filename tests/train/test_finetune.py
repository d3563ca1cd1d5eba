"""`spade finetune`, as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spade_pyserini import SpadeModel
from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.errors import UsageError
from spade_pyserini.models.fingerprint import weights_fingerprint
from spade_pyserini.train.finetune import FinetuneOptions
from tests.commands import Commands

WORDS = "cat dog bird fish house tree river folder file old new big".split()


def lines_of(corpus: Path) -> list[str]:
    return (corpus / "corpus.jsonl").read_text().splitlines()


@pytest.fixture
def pairs(tmp_path: Path, tiny_corpus: Path, tiny_model: SpadeModel) -> list[str]:
    """The options of a call with twelve queries of one word, each with a relevant document."""
    (tmp_path / "queries.tsv").write_text("".join(f"q{n}\t{w}\n" for n, w in enumerate(WORDS)))
    texts = [json.loads(line)["text"] for line in lines_of(tiny_corpus)]
    lines = []
    for number, word in enumerate(WORDS):
        docid = next(n for n, text in enumerate(texts) if word in text.split())
        lines.append(f"q{number} 0 d{docid} 1\n")
    (tmp_path / "qrels.txt").write_text("".join(lines))
    tiny_model.with_settings(trained=True).save_pretrained(tmp_path / "tiny")
    options = ["--model", tmp_path / "tiny", "--corpus", tiny_corpus, "--output", tmp_path / "mine"]
    options += ["--queries", tmp_path / "queries.tsv", "--qrels", tmp_path / "qrels.txt"]
    return [str(option) for option in options]


@pytest.mark.java
def test_pairs_to_a_model_and_a_table(pairs: list[str], tmp_path: Path, run: Commands) -> None:
    result = run("finetune", *pairs, "--steps", 3)
    assert result.code == 0, result.err
    rows = [line.split() for line in result.out.splitlines()]
    assert [row[0] for row in rows[2:5]] == ["BM25", f"{tmp_path / 'tiny'},", "fine-tuned"]
    assert result.out.splitlines()[-1] == str(tmp_path / "mine" / "best")
    assert "3 steps" in result.err and "on this machine" in result.err
    dev, train = (read_qrels(tmp_path / f"mine/{part}.qrels.txt") for part in ("dev", "train"))
    assert len(dev) == 5 and len(train) == 7 and not dev.keys() & train.keys()
    tuned = SpadeModel.from_pretrained(tmp_path / "mine" / "best")
    assert weights_fingerprint(tuned) != weights_fingerprint(
        SpadeModel.from_pretrained(tmp_path / "tiny")
    )
    figures = json.loads((tmp_path / "mine" / "results.json").read_text())
    assert figures["systems"][0]["system"] == "BM25"
    assert run("finetune", *pairs, "--steps", 3).out == result.out
    assert run("finetune", *pairs, "--steps", 3, "--resume").out == result.out


@pytest.mark.java
def test_a_csv_of_documents_and_a_csv_of_pairs(
    pairs: list[str], tmp_path: Path, tiny_corpus: Path, run: Commands
) -> None:
    """Columns of any names, and pairs of a query and the id of a document."""
    documents = [json.loads(line) for line in lines_of(tiny_corpus)]
    rows = [f"{x['_id']},{x['title']},{x['text']}" for x in documents]
    (tmp_path / "goods.csv").write_text("\n".join(["code,name,info", *rows]))
    judged = [line.split() for line in (tmp_path / "qrels.txt").read_text().splitlines()]
    texts = dict(line.split("\t") for line in (tmp_path / "queries.tsv").read_text().splitlines())
    clicks = [f"{texts[qid]},{docid}" for qid, _, docid, _ in judged]
    (tmp_path / "clicks.csv").write_text("\n".join(["words,code", *clicks]))
    model = ("--model", tmp_path / "tiny", "--steps", 2, "--output", tmp_path / "mine")
    fields = ("--id-field", "code", "--title-field", "name", "--text-fields", "info")
    call = ("finetune", "--corpus", tmp_path / "goods.csv", "--pairs", tmp_path / "clicks.csv")
    wrong = run(*call, *fields, *model)
    assert wrong.code == 1 and "--query-field COLUMN" in wrong.err and "`words`" in wrong.err
    result = run(*call, *fields, *model, "--query-field", "words")
    assert result.code == 0, result.err
    assert "id from `code`, title from `name`, text from `info`" in result.err
    assert "fine-tuned" in result.out
    assert (tmp_path / "mine" / "best" / "README.md").is_file()


@pytest.mark.java
def test_a_single_file_of_pairs(
    pairs: list[str], tmp_path: Path, tiny_corpus: Path, run: Commands
) -> None:
    texts = [json.loads(line)["text"] for line in lines_of(tiny_corpus)]
    rows = [f"{text.split()[0]} {text.split()[-1]},{text}" for text in texts]
    (tmp_path / "faq.csv").write_text("\n".join(["question,answer", *rows]))
    model = ("--model", tmp_path / "tiny", "--steps", 2, "--output", tmp_path / "mine")
    result = run("finetune", "--pairs", tmp_path / "faq.csv", *model)
    assert result.code == 0, result.err
    assert "queries from `question`, texts from `answer`" in result.err
    assert "30 pairs, 30 queries, 30 documents" in result.err
    again = run("finetune", "--pairs", tmp_path / "faq.csv", *model, "--resume")
    assert again.out == result.out


@pytest.mark.java
def test_resume_without_a_run_says_so(pairs: list[str], run: Commands) -> None:
    result = run("finetune", *pairs, "--steps", 1, "--resume")
    assert result.code == 0, result.err
    assert "mine has no run to resume; a new one is started" in result.err


@pytest.mark.java
def test_wrong_calls(pairs: list[str], tmp_path: Path, run: Commands) -> None:
    with pytest.raises(UsageError, match="both dev_queries and dev_qrels"):
        FinetuneOptions("c", "q", "r", dev_qrels="x")
    with pytest.raises(UsageError, match="either pairs, or queries and qrels"):
        FinetuneOptions("c", "q", "r", pairs="p")
    assert run("finetune", "--output", "x", "--corpus", "pydoc").code == 2
    (tmp_path / "few.txt").write_text("q1 0 d1 1\n")
    few = run("finetune", *pairs, "--qrels", tmp_path / "few.txt")
    assert few.code == 1 and "1 queries have a relevant document, 10 are needed" in few.err
    unknown = run("finetune", *pairs, "--model", "nowhere")
    assert unknown.code == 1 and "nowhere" in unknown.err
    assert not (tmp_path / "mine").exists()
