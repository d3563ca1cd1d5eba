"""The command `spade index`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spade_pyserini import SpadeModel
from spade_pyserini.formats.index_manifest import IndexManifest
from tests.commands import Commands
from tests.conftest import write_corpus


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--bm25",),
        ("--input", "x", "--bm25", "--corpus", "y"),
        ("--corpus", "y"),
        ("--input", "x", "--corpus-path", "y"),
        ("--input", "x", "--expansions-per-doc", "3"),
        ("--input", "x", "--threads", "100000"),
        ("--input", "x", "--id-field", "y"),
        ("--input", "x", "--text-fields", "y"),
        ("--input", "x", "--verify", "--overwrite"),
        ("--input", "x", "--verify", "--optimize"),
        ("--input", "x", "--add", "--output", "y", "--overwrite"),
        ("--delete", "d1", "--output", "y", "--builder", "direct"),
    ],
)
def test_calls_that_make_no_sense(run: Commands, arguments: tuple[str, ...]) -> None:
    assert run("index", *arguments).code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--input", "x", "--delete", "d1"), "--input cannot be combined with --delete"),
        (("--add", "--output", "y"), "--add needs --input DIR"),
        (("--verify",), "--verify needs the index (--output DIR) or its vectors (--input DIR)"),
    ],
)
def test_a_wrong_call_names_the_mistake(
    run: Commands, arguments: tuple[str, ...], message: str
) -> None:
    result = run("index", *arguments)
    assert result.code == 2 and message in result.err


@pytest.mark.parametrize("mode", [(), ("--add", "--output", "y"), ("--verify", "--output", "y")])
def test_a_missing_input_is_named(run: Commands, tmp_path: Path, mode: tuple[str, ...]) -> None:
    result = run("index", "--input", tmp_path / "nowhere", *mode)
    assert result.code == 1
    if "--verify" not in mode:
        assert result.err == (
            f"error: {tmp_path / 'nowhere'}: no such folder; write it with `spade encode`\n"
        )


@pytest.mark.java
def test_a_csv_file_is_indexed_for_bm25(run: Commands, tmp_path: Path) -> None:
    path = tmp_path / "products.csv"
    path.write_text("code,name,info,color\nA1,house,an old cat,red\nA2,fish,a bird,blue\n")
    fields = ("--id-field", "code", "--title-field", "name", "--text-fields", "info", "color")
    index = tmp_path / "x"
    assert run("index", "--bm25", "--corpus", path, *fields, "--output", index).code == 0
    assert IndexManifest.load(index).documents == 2
    result = run("search", "--index", index, "--query", "blue", "--corpus", path, *fields)
    assert re.search(r"A2 .* fish$", result.out, re.MULTILINE)
    assert "A1" not in result.out


@pytest.mark.java
def test_added_documents_with_other_counts_name_the_file(
    run: Commands, idf_model: SpadeModel, tiny_corpus: Path, tmp_path: Path
) -> None:
    idf_model.save_pretrained(tmp_path / "idf")
    more = write_corpus(tmp_path / "more", 7)
    vectors, added, index = (tmp_path / name for name in ("vectors", "added", "index"))
    model = ("--model", tmp_path / "idf")
    assert run("encode", "--corpus", tiny_corpus, *model, "--output", vectors).code == 0
    assert run("index", "--input", vectors, "--output", index).code == 0
    assert run("encode", "--corpus", more, *model, "--output", added).code == 0
    refused = run("index", "--input", added, "--add", "--output", index)
    assert refused.code == 1
    counts = tmp_path / "vectors.counts.json"
    assert "was encoded with other term counts" in refused.err
    assert f"`spade encode --counts {counts} --overwrite`" in refused.err
    moved = counts.rename(tmp_path / "elsewhere")
    refused = run("index", "--input", added, "--add", "--output", index)
    assert "`spade encode --counts FILE`, where FILE is the .counts.json next to" in refused.err
    moved.rename(counts)
    encode = ("encode", "--corpus", more, *model, "--output", added)
    assert run(*encode, "--counts", counts, "--overwrite").code == 0
    assert run("index", "--input", added, "--add", "--output", index).code == 0
