"""Build an impact index from vectors."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from spade_pyserini import ImpactSearcher, build_impact_index
from spade_pyserini.analysis.stats import index_stats
from spade_pyserini.errors import ArtifactError, OutputExistsError
from spade_pyserini.formats import vector_manifest, vectors
from spade_pyserini.formats.digests import sha256
from spade_pyserini.formats.index_manifest import IndexManifest, manifest_path
from spade_pyserini.formats.locks import lock
from spade_pyserini.formats.private_names import private_sibling
from spade_pyserini.index import IndexOptions, build_foreign_index, verify_index
from spade_pyserini.index.counts import lucene_counts
from spade_pyserini.index.postings import Postings
from spade_pyserini.records import Topic
from tests.commands import Commands, copy_artifact
from tests.index.conftest import GOOD, write_foreign

pytestmark = pytest.mark.java


def test_lucene_has_every_posting(tiny_index: Path, tiny_vectors: Path) -> None:
    encoded = vectors.verify(tiny_vectors)
    counts = lucene_counts(tiny_index)
    assert counts == (30, encoded.terms, encoded.impacts)
    manifest = IndexManifest.load(tiny_index)
    assert manifest.kind == "impact"
    assert manifest.tokenizer_fingerprint == encoded.settings.tokenizer_fingerprint
    assert sha256(Path(f"{tiny_index}.tokenizer.json")) == sha256(
        Path(f"{tiny_vectors}.tokenizer.json")
    )


def test_no_temporary_file_is_left_next_to_the_index(tiny_index: Path) -> None:
    assert {path.name for path in tiny_index.parent.iterdir()} == {
        "tiny",
        "tiny.manifest.json",
        "tiny.tokenizer.json",
    }


def test_the_tokenizer_next_to_the_vectors_must_match_them(
    tiny_vectors: Path, tmp_path: Path
) -> None:
    source = copy_artifact(tiny_vectors, tmp_path)
    path = vector_manifest.tokenizer_path(source)
    definition = json.loads(path.read_text())
    definition["normalizer"]["lowercase"] = False
    path.write_text(json.dumps(definition))
    with pytest.raises(ArtifactError, match="not the tokenizer that the vectors were encoded with"):
        build_impact_index(source, tmp_path / "x")


def test_two_builds_of_one_index(tiny_vectors: Path, tmp_path: Path) -> None:
    with lock(tmp_path / "x"), pytest.raises(OutputExistsError, match="another process"):
        build_impact_index(tiny_vectors, tmp_path / "x")


def test_a_killed_build_is_completed(tiny_vectors: Path, tmp_path: Path) -> None:
    """kill -9 leaves an unfinished staging folder, or a manifest without a folder."""
    unfinished = private_sibling(tmp_path / "x")
    unfinished.mkdir()
    (unfinished / "_0.fdt").write_bytes(b"unfinished")
    manifest = build_impact_index(tiny_vectors, tmp_path / "x")
    (tmp_path / "x").rename(tmp_path / "moved")
    assert manifest_path(tmp_path / "x").exists()
    assert replace(build_impact_index(tiny_vectors, tmp_path / "x"), commit=None) == replace(
        manifest, commit=None
    )
    assert not unfinished.exists()


QUERIES = ["cat", "the old dog", "fish and bird and fish", "zebra", "", "the the cat"]


def test_killed_and_completed(tmp_path: Path) -> None:
    """kill -9 during the build leaves no index; the same command builds it."""
    folder = tmp_path / "vectors"
    folder.mkdir()
    for number in range(12):
        with gzip.open(folder / f"{number}.jsonl.gz", "wt") as stream:
            for document in range(500):
                vector = {
                    f"t{(document * 31 + step) % 5000}": 1 + step % 200 for step in range(100)
                }
                stream.write(json.dumps({"id": f"{number}-{document}", "vector": vector}) + "\n")
    command = [sys.executable, "-m", "spade_pyserini.index", "--foreign", "--input", str(folder)]
    command += ["--output", str(tmp_path / "x")]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob(".x.*.tmp")):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "x").exists()
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    assert lucene_counts(tmp_path / "x").documents == 6_000
    shutil.rmtree(folder)


def test_reordered_documents_are_found_as_before(
    both_indexes: dict[str, Path], tiny_vectors: Path, tmp_path: Path, run: Commands
) -> None:
    flags = ("--input", tiny_vectors, "--output", tmp_path / "x", "--reorder")
    assert run("index", *flags).code == 0
    topics = [Topic(str(number), text) for number, text in enumerate(QUERIES)]
    with (
        ImpactSearcher(both_indexes["direct"]) as plain,
        ImpactSearcher(tmp_path / "x") as reordered,
    ):
        assert reordered.batch_search(topics, 5) == plain.batch_search(topics, 5)
    assert run("index", *flags, "--builder", "anserini").code == 2
    with pytest.raises(OutputExistsError):
        build_impact_index(tiny_vectors, tmp_path / "x")


def test_foreign_vectors_are_reordered(tmp_path: Path) -> None:
    """There are so many documents that the order of the index differs from that of the file."""
    choose = random.Random(3)
    lines = [
        {"id": f"d{number}", "vector": {f"s{number % 2}w{choose.randrange(9)}": 9, "the": 1}}
        for number in range(80)
    ]
    source = write_foreign(tmp_path / "v", *lines)
    build_foreign_index(source, tmp_path / "plain")
    build_foreign_index(source, tmp_path / "x", options=IndexOptions(reorder=True))
    assert lucene_counts(tmp_path / "x") == lucene_counts(tmp_path / "plain")
    with Postings(tmp_path / "plain") as plain, Postings(tmp_path / "x") as reordered:
        assert reordered.documents() != plain.documents()
        docids = plain.documents()
        assert reordered.vectors(docids) == plain.vectors(docids)


def test_foreign_vectors_are_indexed_and_searched(
    tiny_index: Path, tmp_path: Path, run: Commands
) -> None:
    source = write_foreign(tmp_path / "splade", GOOD, {"id": "b", "vector": {}})
    tokenizer = tiny_index.with_name(f"{tiny_index.name}.tokenizer.json")
    flags = ("--foreign", "--input", source, "--output", tmp_path / "x")
    assert run("index", *flags, "--tokenizer", tokenizer).code == 0
    assert verify_index(tmp_path / "x").empty_documents == 1
    with ImpactSearcher(tmp_path / "x") as searcher:
        assert [tuple(hit) for hit in searcher.search("cat cat dog fish")] == [("a", 4)]
        assert searcher.unknown_terms("fish and cat") == ["fish", "and"]
        assert searcher.unknown_terms("") == []
    (tmp_path / "x.manifest.json").unlink()  # as if another tool had built it
    (tmp_path / "x.tokenizer.json").unlink()
    result = run("search", "--index", tmp_path / "x", "--tokenizer", tokenizer, "--query", "cat")
    assert result.code == 0 and "a" in result.out
    assert index_stats(tmp_path / "x")["postings"] == 2
    assert run("search", "--index", tmp_path / "x", "--query", "cat").code == 1
    assert run("index", "--input", source, "--tokenizer", tokenizer).code == 2
