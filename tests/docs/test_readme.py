"""The demo as a user runs it, and after it every command of the README in the same folder."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spade_pyserini import ImpactSearcher, SpadeModel, read_topics, read_vectors
from spade_pyserini.cli.demo import SPADE
from tests.conftest import ROOT
from tests.evaluate.test_measures import assert_same_digits

pytestmark = pytest.mark.java

README = (ROOT / "README.md").read_text()
COMMANDS = [
    line.split("#")[0].strip()
    for block in re.findall(r"```bash\n(.*?)```", README, flags=re.DOTALL)
    for line in block.splitlines()
]
PROGRAMS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder in which the demo has run, with the files the README takes for granted."""
    folder = tmp_path_factory.mktemp("demo")
    done = shell("python -m spade_pyserini.demo", folder)
    assert done.returncode == 0, done.stderr
    (folder / "demo.out").write_text(done.stdout)
    (folder / "my-corpus").mkdir()
    texts = ["Delete a folder and all files in it.", "Open a file for reading.", "The time now."]
    lines = [json.dumps({"_id": f"d{n}", "text": text}) for n, text in enumerate(texts)]
    (folder / "my-corpus" / "corpus.jsonl").write_text("\n".join(lines))
    shutil.copy(ROOT / "runs" / "reproduce.yaml", folder / "runs")
    (folder / "collection.tsv").write_text("".join(f"{n}\t{t}\n" for n, t in enumerate(texts)))
    return folder


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # The model is a real one and may have the machine, but for what the other tests need of it.
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    threads = max(1, len(os.sched_getaffinity(0)) // workers)
    environment = {**os.environ, "PATH": path, "OMP_NUM_THREADS": str(threads)}
    return subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_demo_fills_the_three_folders_as_pyserinis_guides_do(place: Path) -> None:
    assert (place / "encode" / SPADE / "docs0000.jsonl.gz").exists()
    assert list((place / "index" / SPADE).glob("segments_*"))
    assert list((place / "index" / "pydoc.bm25").glob("segments_*"))
    assert (place / "runs" / f"run.{SPADE}.pydoc-test.txt").exists()


def test_the_demo_shows_what_it_found(place: Path) -> None:
    out = (place / "demo.out").read_text()
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
    assert out.count("(grade ") + out.count("(not judged") == 9
    assert len(re.findall(r"^  python -m spade_pyserini\.", out, flags=re.MULTILINE)) == 7


def test_the_scores_of_the_demo_are_trec_evals(place: Path) -> None:
    qrels = ROOT / "spade_pyserini" / "corpora" / "pydoc_data" / "qrels.pydoc-test.txt"
    for run in (place / "runs").glob("run.*.pydoc-test.txt"):
        assert_same_digits(qrels, run)


def test_lucene_scores_are_the_inner_products_on_real_documents(place: Path) -> None:
    vectors = dict(read_vectors(place / "encode" / SPADE))
    topics = random.Random(0).sample(read_topics("pydoc"), 20)
    with ImpactSearcher(place / "index" / SPADE) as searcher:
        for topic in topics:
            terms = searcher.wordpieces.query_terms(topic.text)
            hits = searcher.search(topic.text, 1000)
            for hit in hits:
                assert hit.score == sum(vectors[hit.docid].get(term, 0) for term in terms)
            scores = [sum(vector.get(term, 0) for term in terms) for vector in vectors.values()]
            best = sorted((score for score in scores if score > 0), reverse=True)[:1000]
            assert [hit.score for hit in hits] == best


@pytest.mark.slow
def test_a_second_demo_encodes_nothing(place: Path) -> None:
    shards = {path: path.stat().st_mtime_ns for path in (place / "encode" / SPADE).iterdir()}
    done = shell("python -m spade_pyserini.demo", place)
    assert done.returncode == 0, done.stderr
    assert {path: path.stat().st_mtime_ns for path in shards} == shards


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_readme(place: Path, command: str) -> None:
    program, target, *_ = command.split()
    if program == "source":
        assert f"VENV := {Path(target).parts[0]}\n" in (ROOT / "Makefile").read_text()
        return
    # The recipe of `make demo` has run for `place`, and `make test` is running.
    done = shell(f"make --dry-run {target}", ROOT) if program == "make" else shell(command, place)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_readmes_training_left_a_model(place: Path) -> None:
    model = SpadeModel.from_pretrained(place / "my-model" / "best")
    assert model.config.trained
    assert model.encode(["Delete a folder."])[0]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_of_the_readme(place: Path, program: str) -> None:
    (place / "program.py").write_text(program)
    done = shell("python program.py", place)
    assert done.returncode == 0, done.stderr
    assert "Hit(docid='d" in done.stdout


def test_the_readme_has_commands_and_a_program() -> None:
    assert len(COMMANDS) >= 12
    assert len(PROGRAMS) == 1


def test_links_of_the_readme_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", README):
        assert (ROOT / target).exists(), target
