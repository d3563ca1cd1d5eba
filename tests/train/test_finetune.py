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
    assert "3 steps" in result.err and "minutes on this machine" in result.err
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
def test_wrong_calls(pairs: list[str], tmp_path: Path, run: Commands) -> None:
    with pytest.raises(UsageError, match="both dev_queries and dev_qrels"):
        FinetuneOptions("c", "q", "r", dev_qrels="x")
    (tmp_path / "few.txt").write_text("q1 0 d1 1\n")
    few = run("finetune", *pairs, "--qrels", tmp_path / "few.txt")
    assert few.code == 1 and "1 queries have a relevant document, 10 are needed" in few.err
    unknown = run("finetune", *pairs, "--model", "nowhere")
    assert unknown.code == 1 and "nowhere" in unknown.err
    assert not (tmp_path / "mine").exists()
