"""Lucene 9.9 (pyserini 1.6) and Lucene 10 (pyserini 2) give the same runs, hit by hit.

The folder ``data`` has an index of each version, and runs that were written with Lucene 9.9; see
the README there. The tests run with the version that is installed.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from spade_pyserini.errors import JavaError
from spade_pyserini.index.counts import lucene_counts
from spade_pyserini.index.direct import WriteOptions, write_index
from spade_pyserini.lucene.runtime import anserini_jar, lucene_version
from tests.commands import Commands, Result, copy_artifact

DATA = Path(__file__).with_name("data")
INSTALLED = lucene_version(anserini_jar())
REFUSED = (
    "Lucene 10 wrote this index; Lucene 9.9.1 of the installed pyserini cannot read it; use the "
    "index with pyserini 2, on Python 3.12 or later, or build the index again with "
)
needs_10 = pytest.mark.skipif(INSTALLED != 10, reason="needs pyserini 2, on Python 3.12 or later")
needs_9 = pytest.mark.skipif(INSTALLED != 9, reason="needs pyserini 1.6, on Python 3.11")


def search(run: Commands, index: Path, output: Path) -> Result:
    return run("search", "--index", index, "--topics", DATA / "topics.tsv", "--output", output)


@pytest.mark.java
@pytest.mark.parametrize("builder", ["direct", "anserini"])
def test_a_new_index_gives_the_same_run(tmp_path: Path, run: Commands, builder: str) -> None:
    source = ("--input", DATA / "vectors", "--tokenizer", DATA / "tokenizer.json")
    index = tmp_path / "vectors"
    result = run("index", "--foreign", *source, "--output", index, "--builder", builder)
    assert result.code == 0, result.err
    assert search(run, index, tmp_path / "run.txt").code == 0
    assert (tmp_path / "run.txt").read_text() == (DATA / "run.impact.txt").read_text()


@pytest.mark.java
def test_bm25_gives_the_same_run(tmp_path: Path, run: Commands) -> None:
    index = tmp_path / "bm25"
    result = run("index", "--bm25", "--corpus", DATA / "corpus.jsonl", "--output", index)
    assert result.code == 0, result.err
    assert search(run, index, tmp_path / "run.txt").code == 0
    assert (tmp_path / "run.txt").read_text() == (DATA / "run.bm25.txt").read_text()


@pytest.mark.java
@pytest.mark.parametrize("lucene", [9, pytest.param(10, marks=needs_10)])
def test_an_index_of_each_version_gives_the_same_run(
    tmp_path: Path, run: Commands, lucene: int
) -> None:
    index = copy_artifact(DATA / f"lucene{lucene}", tmp_path)
    result = search(run, index, tmp_path / "run.txt")
    assert result.code == 0, result.err
    assert (tmp_path / "run.txt").read_text() == (DATA / "run.impact.txt").read_text()
    result = run("index", "--verify", "--output", index, "--input", DATA / "vectors")
    assert result.code == 0, result.err


@pytest.mark.java
@needs_9
def test_lucene_9_refuses_an_index_of_lucene_10(tmp_path: Path, run: Commands) -> None:
    index = copy_artifact(DATA / "lucene10", tmp_path)
    verifying = run("index", "--verify", "--output", index)
    for result in (search(run, index, tmp_path / "run.txt"), verifying, run("stats", index)):
        assert result.code == 1
        assert result.err.startswith(f"error: {index}: {REFUSED}")
        assert result.err.count("\n") == 1


@pytest.mark.java
def test_an_index_of_lucene_9_is_changed(tmp_path: Path, run: Commands) -> None:
    """New segments must have the version of Lucene that created the index."""
    index = copy_artifact(DATA / "lucene9", tmp_path)
    vectors = tmp_path / "new.jsonl"
    vectors.write_text(
        '{"id": "d1", "vector": {"river": 1000}}\n{"id": "new", "vector": {"river": 999}}\n'
    )
    before = lucene_counts(index)
    shutil.copytree(index, tmp_path / "copy")
    write_index(
        [vectors], tmp_path / "copy", threads=1, total=2, options=WriteOptions(create=False)
    )
    assert lucene_counts(tmp_path / "copy").documents == before.documents + 1
    options = ("--query", "river", "--tokenizer", DATA / "tokenizer.json", "--hits", 2)
    found = run("search", "--index", tmp_path / "copy", *options)
    assert found.code == 0, found.err
    assert found.out.index("d1") < found.out.index("new")
    assert run("index", "--delete", "d1", "--output", index).code == 0
    assert lucene_counts(index).documents == before.documents - 1


def test_an_unknown_version_of_anserini() -> None:
    assert lucene_version(Path("anserini-1.7.1-fatjar.jar")) == 9
    assert lucene_version(Path("anserini-2.3.0-fatjar.jar")) == 10
    with pytest.raises(JavaError, match=r"anserini-3.*works with Anserini 1 and 2 .* 'pyserini>="):
        lucene_version(Path("anserini-3.0.0-fatjar.jar"))
