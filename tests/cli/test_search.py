"""The command `spade search`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spade_pyserini import read_run
from spade_pyserini.corpora.topics import topics_name
from spade_pyserini.index import build_foreign_index
from tests.commands import Commands

pytestmark = pytest.mark.java


def test_the_command_writes_a_run(tiny_index: Path, tmp_path: Path, run: Commands) -> None:
    topics = tmp_path / "my topics.tsv"
    topics.write_text("1\tthe cat\n2\t\U0001f600\nx3\tbig river\n")
    arguments = ("--index", tiny_index, "--topics", topics, "--output", tmp_path / "run.txt")
    result = run("search", *arguments, "--hits", 3)
    assert result.code == 0
    assert "1 of 3 topics have no hit" in result.err
    rankings = read_run(tmp_path / "run.txt")
    assert [(ranking.qid, len(ranking.hits)) for ranking in rankings] == [("1", 3), ("x3", 3)]
    again = run("search", *arguments)
    assert again.code == 1
    assert "exists already" in again.err
    assert read_run(tmp_path / "run.txt") == rankings
    assert run("search", *arguments, "--overwrite").code == 0
    assert len(read_run(tmp_path / "run.txt")[0].hits) > 3


def test_topics_that_are_wordpieces_already(
    tiny_index: Path, tmp_path: Path, run: Commands
) -> None:
    plain, pieces = tmp_path / "plain.tsv", tmp_path / "topics.wp.tsv"
    plain.write_text("1\tcat\n2\tdelete ##s\n3\t### the cat\n")
    arguments = ("--index", tiny_index, "--output", tmp_path / "run.txt")
    assert run("search", *arguments, "--topics", plain).code == 0
    assert run("topics", "--topics", plain, "--index", tiny_index, "--output", pieces).code == 0
    refused = run("search", *arguments, "--topics", pieces, "--overwrite")
    assert refused.code == 2
    assert "topic 2 holds WordPieces already" in refused.err
    pieces.write_text("1\tcat\n2\tzeb ##ra\n3\tthe cat\n4\tgi ##raf ##fe\n5\tcat ## dog\n")
    refused = run("search", *arguments, "--topics", pieces, "--overwrite")
    assert refused.code == 2
    assert "2 of 5 topics hold WordPieces of another tokenizer ('zeb ##ra')" in refused.err


def test_verbose_names_unknown_wordpieces(tiny_index: Path, tmp_path: Path, run: Commands) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "a.jsonl").write_text('{"id": "a", "vector": {"cat": 1}}')
    build_foreign_index(tmp_path / "v", tmp_path / "x", tiny_index.with_name("tiny.tokenizer.json"))
    (tmp_path / "t.tsv").write_text("q1\tcat, cat?\nq2\tcat deletes\nq3\tcat \u4e2d \u9fa5\n")
    arguments = ("--index", tmp_path / "x", "--topics", tmp_path / "t.tsv", "--output")
    shown = run("search", *arguments, tmp_path / "run.txt", "--verbose")
    assert shown.code == 0
    assert "topic q2: terms in no document: del ##ete ##s" in shown.err
    assert "topic q3: 2 words not in the vocabulary: \u4e2d \u9fa5" in shown.err
    assert "topic q1" not in shown.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("--query", "cat \udcff"),
        ("--query", "cat", "--output", "x.txt"),
        ("--query", "cat", "--remove-query"),
        ("--topics", "pydoc-dev", "--corpus", "pydoc"),
        ("--topics", "pydoc-dev", "--max-passage", "--max-passage-delimiter", "", "--output", "x"),
        ("--query", "cat", "--threads", "100000"),
    ],
)
def test_flags_that_make_no_sense(
    tiny_index: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: Commands,
    arguments: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("search", "--index", tiny_index, *arguments)
    assert result.code == 2
    assert "Traceback" not in result.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("output", ["folder", "file/x", "x" * 300])
def test_outputs_that_cannot_be_written(
    tiny_index: Path, tmp_path: Path, run: Commands, output: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    arguments = ("--index", tiny_index, "--topics", "pydoc-dev", "--overwrite")
    result = run("search", *arguments, "--output", tmp_path / output)
    assert result.code == 1
    assert result.err.startswith("error: ")


def test_ctrl_c_leaves_nothing_half_written(tiny_index: Path, tmp_path: Path) -> None:
    topics = tmp_path / "many.tsv"
    topics.write_text("".join(f"{number}\tthe old cat\n" for number in range(400_000)))
    command = [sys.executable, "-m", "spade_pyserini.search", "--index", str(tiny_index)]
    command += ["--topics", str(topics), "--output", str(tmp_path / "run.txt")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob(".run.txt.*.tmp")):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "interrupted; run the same command again" in err
    assert {path.name for path in tmp_path.iterdir()} == {"many.tsv"}


def test_a_query_on_passages_ranks_documents(
    tiny_corpus: Path, tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    """``--max-passage`` prints only the best passage of each document."""
    corpus, model = ("--corpus", tiny_corpus), ("--model", tiny_model_folder)
    segment = ("--segment", "2", "--output", tmp_path / "passages")
    assert run("encode", *corpus, *model, *segment).code == 0
    index = tmp_path / "index"
    assert run("index", "--input", tmp_path / "passages", "--output", index).code == 0
    arguments = ("--index", index, "--query", "the cat", "--hits", 5, *corpus)
    result = run("search", *arguments, "--json", "--max-passage")
    assert result.code == 0, result.err
    hits = json.loads(result.out)["hits"]
    documents = [hit["docid"].split("#")[0] for hit in hits]
    assert len(documents) == len(set(documents)) == 5
    assert all("#" in hit["docid"] and hit["snippet"]["text"] for hit in hits)
    passages = [hit["docid"] for hit in json.loads(run("search", *arguments, "--json").out)["hits"]]
    assert passages != [hit["docid"] for hit in hits]  # here two passages of one document are hits
    wrong = run("search", *arguments, "--max-passage", "--max-passage-delimiter", "")
    assert wrong.code == 2


@pytest.mark.parametrize("arguments", [(), ("--topics", "pydoc", "--query", "x")])
def test_calls_that_make_no_sense(
    tiny_index: Path, run: Commands, arguments: tuple[str, ...]
) -> None:
    assert run("search", "--index", tiny_index, *arguments).code == 2


def test_runs_are_named_after_their_topics() -> None:
    names = ["topics.dl19.tsv", "x/topics.dl20.tsv.gz", "pydoc-test", "queries.v2.jsonl"]
    assert [topics_name(name) for name in names] == ["dl19", "dl20", "pydoc-test", "queries.v2"]
