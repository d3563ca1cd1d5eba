"""Commands in unusual environments, and with unusual inputs; an error is always one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import Commands, shell
from tests.index.conftest import write_foreign

pytestmark = pytest.mark.java
SEARCH = "-m spade_pyserini search --query cat --index"


def test_a_deleted_working_folder(tiny_index: Path, tmp_path: Path) -> None:
    command = f'mkdir gone && cd gone && rmdir ../gone && "{sys.executable}" {SEARCH} {tiny_index}'
    done = shell(command, tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: the current folder was deleted; change to another one\n"


def test_a_low_memory_limit(tiny_index: Path, tmp_path: Path) -> None:
    done = shell(f'ulimit -v 1500000; "{sys.executable}" {SEARCH} {tiny_index}', tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("error: ") == 1 and "ulimit -v" in done.stderr


def test_too_little_memory_for_pytorch(tiny_model_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text('{"id": "1", "contents": "a cat"}\n')
    encode = f"-m spade_pyserini encode --corpus c.jsonl --model {tiny_model_folder} --output out"
    done = shell(f'ulimit -v 500000; "{sys.executable}" {encode}', tmp_path)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "error: there is not enough memory" in done.stderr


def test_an_ascii_terminal(tiny_index: Path, tmp_path: Path) -> None:
    """Characters that the terminal's encoding lacks are escaped; control characters are removed."""
    tokenizer = tiny_index.with_name("tiny.tokenizer.json")
    from spade_pyserini.index import build_foreign_index

    vectors = write_foreign(tmp_path / "v", {"id": "\xe9-1", "vector": {"cat": 3}})
    build_foreign_index(vectors, tmp_path / "x", tokenizer)
    (tmp_path / "corpus.jsonl").write_text(
        '{"_id": "\\u00e9-1", "title": "a \\u001b[31mred\\u0007 title", "text": "cat"}\n'
    )
    done = subprocess.run(
        [sys.executable, *SEARCH.split(), tmp_path / "x", "--corpus", tmp_path / "corpus.jsonl"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert r"\xe9-1  (3)  a [31mred title" in done.stdout


def test_an_empty_model_and_an_output_that_is_a_file(
    tiny_corpus: Path, tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    empty = run("encode", "--corpus", tiny_corpus, "--model", "", "--output", tmp_path / "x")
    assert empty.code == 2 and "--model is empty" in empty.err
    for command in (
        ("explain", "--text", "cat", "--model", ""),
        ("dense", "--corpus", tiny_corpus, "--topics", "pydoc/test", "--model", ""),
        ("search", "--index", "", "--query", "cat"),
        ("fuse", "--run", "x", "", "--output", "y"),
    ):
        empty = run(*map(str, command))
        assert (empty.code, empty.out) == (2, "") and " is empty; give a value" in empty.err
    (tmp_path / "file").write_text("keep")
    flags = ("--corpus", tiny_corpus, "--model", tiny_model_folder, "--output", tmp_path / "file")
    refused = run("encode", *flags, "--overwrite")
    assert refused.code == 1 and "file is a file, a folder was expected" in refused.err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    upwards = run("encode", "--corpus", "hf:../..", "--output", tmp_path / "x")
    assert upwards.code == 1 and "'..' is in the name" in upwards.err


@pytest.mark.parametrize("builder", ["direct", "anserini"])
def test_a_term_outside_the_basic_plane(tmp_path: Path, run: Commands, builder: str) -> None:
    (tmp_path / "v").mkdir()
    escaped = r'{"id": "a", "vector": {"\ud83d\ude00": 3, "cat": 2}}'
    (tmp_path / "v" / "a.jsonl").write_text(escaped)
    flags = ("--foreign", "--input", tmp_path / "v", "--output", tmp_path / "x")
    result = run("index", *flags, "--builder", builder)
    assert result.code == 0, result.err
    from spade_pyserini.index.postings import Postings

    with Postings(tmp_path / "x") as postings:
        assert postings.vectors(["a"]) == [{"\U0001f600": 3, "cat": 2}]


def test_files_nested_thousands_deep(tmp_path: Path, run: Commands) -> None:
    (tmp_path / "r.toml").write_text("x = " + "[" * 100_000 + "]" * 100_000)
    (tmp_path / "r.yaml").write_text("[" * 50_000 + "]" * 50_000)
    for command in (
        ("train", "--recipe", tmp_path / "r.toml", "--output", tmp_path / "run"),
        ("reproduce", "--list", "--file", tmp_path / "r.yaml"),
    ):
        result = run(*map(str, command))
        assert result.code in (1, 2) and "Traceback" not in result.err
        assert "error" in result.err


def test_python_without_docstrings(tiny_corpus: Path, tiny_model_folder: Path) -> None:
    """Encoding needs transformers, which needs docstrings; the error says so in one line."""
    command = [sys.executable, "-OO", "-m", "spade_pyserini", "encode", "--corpus", tiny_corpus]
    command += ["--model", tiny_model_folder, "--output", tiny_corpus.parent / "never"]
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "error: transformers needs docstrings" in done.stderr
