"""Pools: parts of a corpus chosen by runs and judgements."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from spade_pyserini import open_corpus
from spade_pyserini.corpora import pooled
from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.formats.vector_manifest import VectorManifest
from tests.commands import Commands


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    path = tmp_path / "run.txt"
    lines = [
        f"q{topic} Q0 d{topic + rank} {rank} {9 - rank} x" for topic in (1, 5) for rank in (1, 2)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def docids(corpus_folder: Path, *sources: str) -> list[str]:
    return [document.docid for document in pooled(open_corpus(str(corpus_folder)), list(sources))]


def test_documents_of_runs_and_judgements(
    tiny_corpus: Path, run_file: Path, tmp_path: Path
) -> None:
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("q1 0 d20 1\nq1 0 d21 0\nq2 0 d0 2\n")
    assert docids(tiny_corpus, str(run_file)) == ["d2", "d3", "d6", "d7"]
    compressed = tmp_path / "run.txt.gz"
    compressed.write_bytes(gzip.compress(run_file.read_bytes()))
    assert docids(tiny_corpus, str(compressed)) == ["d2", "d3", "d6", "d7"]
    assert docids(tiny_corpus, f"{run_file}:1") == ["d2", "d6"]
    assert docids(tiny_corpus, str(qrels)) == ["d0", "d20"]
    assert docids(tiny_corpus, f"{run_file}:1", str(qrels)) == ["d0", "d2", "d6", "d20"]
    corpus = pooled(open_corpus(str(tiny_corpus)), [str(run_file)])
    assert (corpus.name, corpus.count()) == ("tiny-pool", 4)


def test_the_command(
    tiny_corpus: Path, tiny_model_folder: Path, run_file: Path, tmp_path: Path, run: Commands
) -> None:
    flags = ("--corpus", tiny_corpus, "--pool", f"{run_file}:1")
    out = tmp_path / "x"
    assert run("encode", *flags, "--model", tiny_model_folder, "--output", out).code == 0
    assert VectorManifest.load(out).documents == 2
    assert VectorManifest.load(out).settings.corpus == "tiny-pool"
    assert run("index", "--bm25", *flags, "--output", tmp_path / "bm25").code == 0
    assert run("index", "--input", out, "--pool", run_file).code == 2


def test_sources_that_cannot_be_read(tiny_corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        docids(tiny_corpus, "nowhere.txt")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(InputError, match="is not UTF-8"):
        docids(tiny_corpus, str(tmp_path / "bytes"))
