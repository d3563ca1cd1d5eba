"""Queries that are also documents of the corpus, as in ArguAna."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spade_pyserini.evaluate.own_documents import agree
from tests.commands import Commands

ARGUMENT = "Animals should have rights, because they feel pain as we do."
REMARK = "1 topic retrieves its own text, which is in the corpus (as in ArguAna)"


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """A collection in BEIR's format: topic 1 is document 1; topic 2 is not document 2."""
    folder = tmp_path / "arguments"
    (folder / "qrels").mkdir(parents=True)
    documents = {"1": ARGUMENT, "2": "Zoos protect species.", "3": "Animals have no duties."}
    lines = (json.dumps({"_id": key, "text": text}) for key, text in documents.items())
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    queries = {"1": ARGUMENT.upper(), "2": "animals"}
    lines = (json.dumps({"_id": key, "text": text}) for key, text in queries.items())
    (folder / "queries.jsonl").write_text("\n".join(lines))
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n1\t3\t1\n2\t3\t1\n")
    (tmp_path / "run.txt").write_text("1 Q0 1 1 3 x\n1 Q0 3 2 2 x\n2 Q0 2 1 3 x\n")
    return folder


def test_the_texts_must_agree(collection: Path, tmp_path: Path, run: Commands) -> None:
    result = run("evaluate", "--qrels", f"{collection}/test", "--run", tmp_path / "run.txt")
    assert result.code == 0
    assert REMARK in result.out
    by_name = ("--qrels", "arguments/test", "--data-dir", tmp_path)
    assert REMARK in run("evaluate", *by_name, "--run", tmp_path / "run.txt").out


def test_the_same_number_says_nothing(collection: Path, tmp_path: Path, run: Commands) -> None:
    (tmp_path / "run.txt").write_text("2 Q0 2 1 3 x\n")
    result = run("evaluate", "--qrels", f"{collection}/test", "--run", tmp_path / "run.txt")
    assert result.code == 0
    assert "own text" not in result.out
    (tmp_path / "qrels.txt").write_text("1 0 3 1\n")
    (tmp_path / "run.txt").write_text("1 Q0 1 1 3 x\n")
    unknown = run("evaluate", "--qrels", tmp_path / "qrels.txt", "--run", tmp_path / "run.txt")
    assert unknown.code == 0
    assert "own text" not in unknown.out


@pytest.mark.parametrize(
    ("query", "contents", "expected"),
    [
        (ARGUMENT, f"Rights {ARGUMENT}", True),
        ("Animals", ARGUMENT, False),
        ("imals should have rights, because they feel pain as we do", ARGUMENT, False),
        ("", "", False),
        ("...", "...", False),
    ],
)
def test_agreement(query: str, contents: str, expected: bool) -> None:
    assert agree(query, contents) == expected
