"""``spade search --query``, and queries typed at its prompt."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spade_pyserini import SpadeModel, build_impact_index, encode_corpus, open_corpus
from spade_pyserini.index import build_foreign_index
from tests.commands import Commands
from tests.conftest import ROOT, write_corpus

pytestmark = pytest.mark.java


def test_answers_show_snippets_and_shares(tiny_index: Path, run: Commands) -> None:
    """The index manifest records the corpus, so snippets are shown without ``--corpus``."""
    result = run("search", "--index", tiny_index, "--query", "the cat", "--hits", 2)
    assert result.code == 0
    assert "no texts" not in result.err
    lines = result.out.splitlines()
    assert lines[0] == "query: the cat"
    for head, snippet, terms in (lines[1:4], lines[4:7]):
        assert head.split()[0] in ("1.", "2.")
        assert len(snippet.split()) == 6
        assert terms.count("%)") in (1, 2)
    assert "\x1b" not in result.out
    colored = run(
        "search", "--index", tiny_index, "--query", "the cat", "--hits", 2, "--color", "always"
    )
    assert "\x1b[1;33m" in colored.out
    assert run("search", "--index", tiny_index, "--query", "\u4e2d").out.endswith(
        "no document has any of these terms\n"
    )


def test_unknown_punctuation_is_only_in_json(tiny_index: Path, run: Commands) -> None:
    query = ("search", "--index", tiny_index, "--query", "the cat \u4e2d ?")
    assert "ignored, not in the vocabulary: \u4e2d\n" in run(*query).out
    assert json.loads(run(*query, "--json").out)["ignored"] == ["\u4e2d", "?"]


def test_json_has_the_same(tiny_index: Path, run: Commands) -> None:
    result = run("search", "--index", tiny_index, "--query", "the cat", "--hits", 2, "--json")
    answers = json.loads(result.out)
    assert answers["terms"] == ["the", "cat"]
    assert [hit["rank"] for hit in answers["hits"]] == [1, 2]
    for hit in answers["hits"]:
        assert hit["score"] == sum(term["weight"] for term in hit["matched"])
        assert {"docid", "title", "snippet"} < hit.keys()
        assert all(hit["snippet"]["text"][a:b] in "the cat" for a, b in hit["snippet"]["marks"])


def test_terms_in_no_document_are_shown(tiny_index: Path, tmp_path: Path, run: Commands) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "a.jsonl").write_text('{"id": "a", "vector": {"cat": 1}}')
    build_foreign_index(tmp_path / "v", tmp_path / "x", tiny_index.with_name("tiny.tokenizer.json"))
    some = ("search", "--index", tmp_path / "x", "--query", "cat deletes \u4e2d")
    shown = run(*some)
    assert shown.code == 0, shown.err
    assert "ignored, not in the vocabulary: \u4e2d\nin no document: del ##ete ##s\n" in shown.out
    answers = json.loads(run(*some, "--json").out)
    assert answers["unmatched"] == ["del", "##ete", "##s"] and answers["hits"]
    none = ("search", "--index", tmp_path / "x", "--query", "deletes")
    assert run(*none).out == "query: del ##ete ##s\nno document has any of these terms\n"
    answers = json.loads(run(*none, "--json").out)
    assert answers["unmatched"] == answers["terms"] and not answers["hits"]
    known = run("search", "--index", tmp_path / "x", "--query", "cat")
    assert "in no document" not in known.out


def test_the_guide_describes_the_fields_of_json(tiny_index: Path, run: Commands) -> None:
    guide = (ROOT / "docs" / "guide" / "indexing-and-searching.md").read_text()
    table = guide.split("prints the same as one JSON object")[1].split("\n\n")[1]
    answers = json.loads(run("search", "--index", tiny_index, "--query", "the cat", "--json").out)
    hit = answers["hits"][0]
    for name in (*answers, *hit):
        assert f"`{name}`" in table
    for name in (*hit["matched"][0], *hit["snippet"]):
        assert f'"{name}"' in table


def test_a_corpus_that_is_gone_is_one_line(
    tiny_model: SpadeModel, tmp_path: Path, run: Commands
) -> None:
    corpus = write_corpus(tmp_path / "texts", 3)
    encode_corpus(open_corpus(str(corpus)), tiny_model, tmp_path / "v")
    build_impact_index(tmp_path / "v", tmp_path / "x")
    corpus.rename(tmp_path / "elsewhere")
    result = run("search", "--index", tmp_path / "x", "--query", "the cat")
    assert result.code == 0
    assert result.err.count("no texts are shown: ") == 1
    assert "to show texts, give --corpus NAME|PATH" in result.err
    assert "%)" in result.out
    named = run(
        *("search", "--index", tmp_path / "x", "--query", "the cat"),
        *("--corpus", tmp_path / "elsewhere"),
    )
    assert "no texts" not in named.err
    assert len(named.out) > len(result.out)
    wrong = run("search", "--index", tmp_path / "x", "--query", "cat", "--corpus", "nowhere")
    assert wrong.code == 1
    assert "no corpus, folder or file is called 'nowhere'" in wrong.err


def test_documents_cannot_change_the_terminal(
    tiny_model: SpadeModel, tmp_path: Path, run: Commands
) -> None:
    text = "the cat \x1b]0;title\x07 \x1b[2J \x9b5m \u202e dog"
    document = {"_id": "d\x1b[31m", "title": "the \x1b[5mcat", "text": text}
    (tmp_path / "texts.jsonl").write_text(json.dumps(document | {"_id": "d1"}))
    encode_corpus(open_corpus(str(tmp_path / "texts.jsonl")), tiny_model, tmp_path / "v")
    build_impact_index(tmp_path / "v", tmp_path / "x")
    for flag in ("--color=never", "--json"):
        result = run("search", "--index", tmp_path / "x", "--query", "the cat", flag)
        assert result.code == 0
        assert all(char.isprintable() or char == "\n" for char in result.out)


@pytest.mark.parametrize("command", ["search", "explain"])
def test_an_empty_query(tiny_index: Path, run: Commands, command: str) -> None:
    options = ("--index", tiny_index) if command == "search" else ("--text", "cat")
    for query in ("", "  "):
        result = run(command, *options, "--query", query)
        assert result.code == 2
        assert "--query is empty" in result.err


def test_without_a_terminal_there_is_no_prompt(tiny_index: Path, run: Commands) -> None:
    result = run("search", "--index", tiny_index)
    assert result.code == 2
    assert "give --query TEXT or --topics NAME|FILE; the prompt needs a terminal" in result.err


def test_json_needs_a_query(tiny_index: Path, run: Commands) -> None:
    result = run("search", "--index", tiny_index, "--json")
    assert result.code == 2
    assert result.err == "error: --json needs --query TEXT\n"


def test_the_prompt_answers_until_an_empty_line(tiny_index: Path) -> None:
    out, code = type_at_prompt(tiny_index, ["the cat", "dog", ""])
    assert code == 0
    assert "an empty line or Ctrl-D ends" in out
    assert "query: the cat" in out
    assert "query: dog" in out
    assert "\x1b[1;33m" in out  # matched words are marked on a terminal


def test_ctrl_d_ends_the_prompt(tiny_index: Path) -> None:
    assert type_at_prompt(tiny_index, ["\x04"])[1] == 0


def type_at_prompt(index: Path, lines: list[str]) -> tuple[str, int]:
    """Start ``spade search --index`` on a pseudo-terminal; type each line at a prompt."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "spade_pyserini", "search", "--index", str(index)]
    environment = {**os.environ, "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, close_fds=True
    )
    os.close(theirs)
    out, deadline = "", time.monotonic() + 300
    try:
        for number, line in enumerate(lines, start=1):
            while out.count("query> ") < number:
                assert time.monotonic() < deadline, out
                out += os.read(ours, 65536).decode()
            os.write(ours, line.encode() if line == "\x04" else f"{line}\n".encode())
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # Linux raises this error if the other end is closed
                break
            if not piece:
                break
            out += piece.decode()
        return out, process.wait(timeout=60)
    finally:
        process.kill()
        os.close(ours)
