"""Plain Pyserini on an index of this package gives the same ranking as this package, hit by hit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spade_pyserini.lucene import runtime
from tests.commands import Commands, child

pytestmark = pytest.mark.java

TOPICS = """1\tthe old cat sleeps in the house
2\ta big red dog and a small blue bird
30\tdelete the folder, delete it
4\t[SEP]
5\ts t u v w x y z
"""


@pytest.fixture(scope="module")
def topics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("topics") / "topics.tsv"
    path.write_text(TOPICS)
    return path


@pytest.fixture
def ours(tiny_index: Path, topics: Path, tmp_path: Path, run: Commands) -> list[list[str]]:
    result = run("search", "--index", tiny_index, "--topics", topics, "--output", tmp_path / "r")
    assert result.code == 0
    return ranking(tmp_path / "r")


@pytest.fixture
def wordpieces(tiny_index: Path, topics: Path, tmp_path: Path, run: Commands) -> Path:
    output = tmp_path / "topics.wp.tsv"
    assert run("topics", "--topics", topics, "--index", tiny_index, "--output", output).code == 0
    return output


def ranking(path: Path) -> list[list[str]]:
    """Read qid, docid and rank of every line, sorted by topic."""
    lines = [line.split() for line in path.read_text().splitlines()]
    return sorted(([qid, docid, rank] for qid, _, docid, rank, _, _ in lines), key=lambda x: x[0])


def test_any_pyserini_module_runs_on_our_java(
    tiny_index: Path, wordpieces: Path, ours: list[list[str]], tmp_path: Path
) -> None:
    output = tmp_path / "pyserini.txt"
    done = child(
        *("spade_pyserini.pyserini", "search.lucene", "--impact", "--min-idf", "-1"),
        *("--index", tiny_index, "--topics", wordpieces, "--output", output, "--hits", 1000),
    )
    assert done.returncode == 0, done.stderr
    assert len(ours) > 50
    assert ranking(output) == ours


def full_jdk() -> Path:
    """Return a JDK that plain Pyserini can start: 21 or later, with the vector module."""
    homes = [Path(os.environ.get("JAVA_HOME", "/nowhere")), *Path("/usr/lib/jvm").glob("*")]
    for home in homes:
        java = runtime._read_release(home, "test")
        if java and runtime._major(java.version) >= 21 and runtime.VECTOR_MODULE in java.modules:
            return home
    pytest.skip(
        "needs a full JDK 21 or later (with jdk.incubator.vector), but this machine has none"
    )


@pytest.mark.slow
def test_plain_pyserini_on_a_full_jdk(
    tiny_index: Path, wordpieces: Path, ours: list[list[str]], tmp_path: Path
) -> None:
    home = full_jdk()
    output = tmp_path / "plain.txt"
    path = f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"
    command = [sys.executable, "-m", "pyserini.search.lucene", "--impact", "--min-idf", "-1"]
    command += ["--index", str(tiny_index), "--topics", str(wordpieces), "--output", str(output)]
    environment = {**os.environ, "JAVA_HOME": str(home), "PATH": path}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ranking(output) == ours


def test_pyserinis_searcher_in_the_same_process(tiny_index: Path) -> None:
    code = f"""
from spade_pyserini import ImpactSearcher
with ImpactSearcher({str(tiny_index)!r}) as searcher:
    ours = searcher.search("the old cat", 30)
    terms = searcher.wordpieces.query_terms("the old cat")
from spade_pyserini.lucene.pyserini_import import prepare_pyserini
prepare_pyserini()
from pyserini.search.lucene import LuceneImpactSearcher
theirs = LuceneImpactSearcher({str(tiny_index)!r}, None, min_idf=-1).search(" ".join(terms), 30)
assert len(ours) > 5
assert [hit.docid for hit in theirs] == [hit.docid for hit in ours]
assert [round(hit.score) for hit in theirs] == [hit.score for hit in ours]
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
