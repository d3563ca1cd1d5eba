"""Mistakes and questions of a new user with files of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from spade_pyserini import open_corpus
from tests.commands import Commands

PROGRAM = """
import sys
from spade_pyserini import open_corpus
from spade_pyserini.cli.main import log_to_stderr
log_to_stderr(False)
for path in sys.argv[1:]:
    open_corpus(path)
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with a table of products, whose cells contain line breaks and an inch mark."""
    rows = [f'P{number},chair {number},"two\nlines, {number}"\n' for number in range(5)]
    path = tmp_path / "products.csv"
    path.write_text("sku,name,info\n" + "".join(rows) + 'P5,screen 24",plain\n\nP6,desk,plain\n')
    return tmp_path


def test_rows_with_line_breaks_are_counted_once(shop: Path) -> None:
    corpus = open_corpus(str(shop / "products.csv"), text_fields=["name", "info"])
    assert corpus.count() == len(list(corpus)) == 7


@pytest.mark.parametrize(
    ("call", "path"),
    [
        ("index --bm25 --corpus PATH", "prodcts.csv"),
        ("encode --corpus PATH", "prodcts.csv"),
        ("evaluate --qrels PATH --run x", "prodcts.csv"),
        ("search --index PATH --query x", "products.bm2"),
        ("finetune --pairs PATH --output o", "prodcts.csv"),
        ("evaluate --qrels pydoc/dev --run PATH", "prodcts.csv"),
    ],
)
def test_a_mistyped_path_is_corrected(shop: Path, call: str, path: str, run: Commands) -> None:
    (shop / "products.bm25").mkdir()
    (shop / "products.bm25.manifest.json").touch()
    right = {"prodcts.csv": "products.csv", "products.bm2": "products.bm25"}[path]
    result = run(*call.replace("PATH", str(shop / path)).split())
    assert result.code == 1
    assert f"did you mean {shop / right}?" in result.err
    far = run(*call.replace("PATH", str(shop / "zzz")).split())
    assert far.code == 1 and "did you mean" not in far.err


def test_only_the_missing_columns_are_asked_for(shop: Path, run: Commands) -> None:
    result = run("index", "--bm25", "--corpus", shop / "products.csv", "--output", shop / "x")
    assert result.code == 1
    assert "name columns with --text-fields COLUMN and, if there are titles, --title" in result.err
    assert "--id-field" not in result.err


def test_a_table_in_latin_1_names_the_cure(shop: Path, run: Commands) -> None:
    path = shop / "latin.csv"
    path.write_bytes("sku,text\nP1,chair\nP2,café\n".encode("latin-1"))
    result = run("index", "--bm25", "--corpus", path, "--output", shop / "x")
    assert result.code == 1
    assert f"{path}:3: the row is not UTF-8; save the file as UTF-8, for example with iconv -f" in (
        result.err
    )


def test_a_message_about_a_corpus_is_shown_once(shop: Path) -> None:
    (shop / "goods.csv").write_text("id,text\n1,x\n")
    paths = [shop / "goods.csv", shop / "goods.csv"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, paths)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == f"{paths[0]}: id from `id`, no title, text from `text`\n"


@pytest.mark.java
def test_a_long_report_is_searched_in_passages(
    tmp_path: Path, run: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [f"word{number}" for number in range(300)]
    Path("long report.txt").write_text(" ".join(words))
    result = run("index", "--bm25", "--corpus", "long report.txt", "--segment", "100:50")
    assert result.code == 0, result.err
    assert "the file is one document with the id long%20report.txt" in result.err
    index = result.out.strip()
    found = run("search", "--index", index, "--query", "word160", "--hits", "1")
    assert "long%20report.txt#" in found.out and "word160" in found.out


@pytest.mark.java
def test_a_corpus_in_another_folder_is_named_without_dots(
    shop: Path, run: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop / "goods.csv").write_text("id,text\n1,a chair\n")
    (shop / "work").mkdir()
    monkeypatch.chdir(shop / "work")
    result = run("index", "--bm25", "--corpus", "../goods.csv")
    assert result.code == 0, result.err
    assert "index/goods.bm25: 1 document, " in result.err
    found = run("search", "--index", "index/goods.bm25", "--query", "chair")
    assert found.code == 0 and "a chair" in found.out
    assert f"{shop}/goods.csv: id from `id`" in found.err and ".." not in found.err


def test_queries_without_ids_name_the_cure(shop: Path, run: Commands) -> None:
    (shop / "queries.txt").write_text("a chair for the office\n")
    result = run("search", "--index", shop, "--topics", shop / "queries.txt")
    assert result.code == 1
    assert "found no tab; for queries without ids, use a .csv file whose first line is" in (
        result.err
    )
