"""The demo, run as a user runs it, in an empty folder."""

from __future__ import annotations

import random
import re
import shlex
import sys
from pathlib import Path

import pytest

from spade_pyserini import ImpactSearcher, read_topics, read_vectors
from spade_pyserini.cli import registry
from spade_pyserini.cli.demo import EXAMPLE_TOPICS, EXAMPLES, SERVE, SPADE, serve_command
from tests.commands import shell
from tests.conftest import ROOT
from tests.evaluate.test_measures import assert_same_digits

pytestmark = pytest.mark.java


@pytest.fixture
def folder(demo_folder: Path) -> Path:
    return demo_folder


def test_the_demo_fills_the_three_folders_as_pyserinis_guides_do(folder: Path) -> None:
    assert (folder / "encode" / SPADE / "docs0000.jsonl.gz").exists()
    assert list((folder / "index" / SPADE).glob("segments_*"))
    assert list((folder / "index" / "pydoc.bm25").glob("segments_*"))
    assert (folder / "runs" / f"run.{SPADE}.pydoc-test.txt").exists()


def test_the_demo_prints_a_table_and_examples(folder: Path) -> None:
    out = (folder / "demo.out").read_text()
    columns = ["model", "nDCG@10", "MRR@10", "R@100", "terms/document", "index", "MB", "ms/query"]
    header, _, bm25, spade = next(
        out.splitlines()[n : n + 4] for n, line in enumerate(out.splitlines()) if "ms/query" in line
    )
    assert header.split() == columns
    for row in (bm25, spade):
        figures = [float(cell) for cell in row.split()[-6:]]
        assert all(0.05 < measure < 1 for measure in figures[:3])
        assert all(figure > 0 for figure in figures)
    assert bm25.startswith("BM25 ")
    assert spade.startswith("SpaDE (spade-mini) ")
    assert float(spade.split()[-6]) > float(bm25.split()[-6])  # nDCG@10
    assert "UNTRAINED" not in out
    examples = out.partition("Only the table above is a fair comparison.")[2]
    assert examples.count("(grade ") + examples.count("(not judged") == 18


def test_the_demo_says_how_long_it_takes(folder: Path) -> None:
    first = (folder / "demo.out").read_text().splitlines()[0]
    assert re.search(r"searches [\d,]+ documents. On \d+ cores? this takes about \d+", first)


def test_the_demo_says_how_long_documents_may_be(folder: Path) -> None:
    out = (folder / "demo.out").read_text()
    assert "the first 256 WordPieces of a document, about 190 English words" in out
    assert "--segment 150:75" in out


def test_the_examples_are_answered_and_bm25_is_next_to_them(folder: Path) -> None:
    """The examples are development topics; the first hit of SpaDE has grade 2."""
    out = (folder / "demo.out").read_text().split("Examples: topics of pydoc/dev")[1]
    topics = {topic.qid: topic.text for topic in read_topics(EXAMPLE_TOPICS)}
    for qid in EXAMPLES:
        header, _, first = out.split(f"\n{topics[qid]!r}\n")[1].splitlines()[:3]
        assert header.split() == ["BM25", "SpaDE", "(spade-mini)"]
        assert first.endswith("(grade 2)")


def test_the_demo_lists_its_commands(folder: Path) -> None:
    out = (folder / "demo.out").read_text()
    assert len(re.findall(r"^  spade ", out, flags=re.MULTILINE)) == 8


def test_the_demo_ends_with_the_line_that_starts_the_server(folder: Path) -> None:
    last = (folder / "demo.out").read_text().splitlines()[-1].strip()
    assert last == SERVE
    options = registry.load("serve").parser().parse_args(last.split()[2:])
    for index in (options.index, options.bm25):
        assert (folder / index).is_dir()


def test_the_line_that_starts_the_server_works_without_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make demo` runs `.venv/bin/spade`, and most users have not activated the environment."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    programs = tmp_path / "my env" / "bin"
    programs.mkdir(parents=True)
    monkeypatch.setattr(sys, "executable", str(programs / "python"))
    options = SERVE.split()[1:]
    module = [str(programs / "python"), "-m", "spade_pyserini"]
    assert shlex.split(serve_command()) == [*module, *options]
    (programs / "spade").touch()
    assert shlex.split(serve_command()) == ["my env/bin/spade", *options]


def test_the_scores_of_the_demo_are_trec_evals(folder: Path) -> None:
    qrels = ROOT / "spade_pyserini" / "corpora" / "pydoc_data" / "qrels.pydoc-test.txt"
    runs = sorted((folder / "runs").glob("run.*.pydoc-test.txt"))
    assert len(runs) == 2
    for run in runs:
        assert_same_digits(qrels, run)


def test_lucene_scores_are_the_inner_products_on_real_documents(folder: Path) -> None:
    vectors = dict(read_vectors(folder / "encode" / SPADE))
    topics = random.Random(0).sample(read_topics("pydoc"), 20)
    with ImpactSearcher(folder / "index" / SPADE) as searcher:
        for topic in topics:
            terms = searcher.wordpieces.query_terms(topic.text)
            hits = searcher.search(topic.text, 1000)
            for hit in hits:
                assert hit.score == sum(vectors[hit.docid].get(term, 0) for term in terms)
            scores = [sum(vector.get(term, 0) for term in terms) for vector in vectors.values()]
            best = sorted((score for score in scores if score > 0), reverse=True)[:1000]
            assert [hit.score for hit in hits] == best


@pytest.mark.slow
def test_a_second_demo_encodes_nothing(folder: Path) -> None:
    shards = {path: path.stat().st_mtime_ns for path in (folder / "encode" / SPADE).iterdir()}
    done = shell("spade demo", folder)
    assert done.returncode == 0, done.stderr
    assert {path: path.stat().st_mtime_ns for path in shards} == shards
