"""The direct builder against the reference: the same postings, the same answers."""

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
import zipfile
from itertools import pairwise
from pathlib import Path

import pytest

from spade_pyserini import ImpactSearcher, build_impact_index, read_vectors
from spade_pyserini.errors import ArtifactError, JavaError, OutputExistsError, UsageError
from spade_pyserini.formats.index_manifest import lucene_counts
from spade_pyserini.index import delete_documents, direct
from spade_pyserini.index.direct import write_index
from spade_pyserini.index.postings import Postings
from spade_pyserini.index.reorder import document_order
from spade_pyserini.lucene import jvm
from spade_pyserini.lucene.jar import DIGEST, JAR, is_current, sources_digest
from spade_pyserini.records import ImpactVector, Topic
from tests.commands import Commands, child

QUERIES = ["cat", "the old dog", "fish and bird and fish", "zebra", "", "the the cat"]


@pytest.fixture(scope="module")
def both(tiny_vectors: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("both")
    for builder in ("direct", "anserini"):
        build_impact_index(tiny_vectors, folder / builder, builder=builder, threads=2)
    return {builder: folder / builder for builder in ("direct", "anserini")}


def test_the_jar_is_that_of_the_sources() -> None:
    assert is_current(), "run `python -m spade_pyserini.jar.build` with a JDK"
    with zipfile.ZipFile(JAR) as jar:
        assert jar.read(DIGEST).decode() == sources_digest()
        assert not [name for name in jar.namelist() if not name.startswith(("spade/", DIGEST))]


def test_both_builders_end_in_the_same_postings(both: dict[str, Path], tiny_vectors: Path) -> None:
    wanted = {vector.docid: vector.impacts for vector in read_vectors(tiny_vectors)}
    assert sum(map(len, wanted.values())) > 100
    for index in both.values():
        with Postings(index) as postings:
            found = postings.vectors(list(wanted))
            assert postings.vectors(["nobody"]) == [None]
        assert dict(zip(wanted, found, strict=True)) == wanted
    assert lucene_counts(both["direct"]) == lucene_counts(both["anserini"])


@pytest.mark.parametrize("threads", [1, 2])
def test_many_segments_hold_the_same(
    tiny_vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    """Memory for a few documents only: a segment is written again and again."""
    monkeypatch.setattr(direct, "BUFFER_MEGABYTES", 0.0005)
    files = sorted(tiny_vectors.glob("*.gz"))
    write_index(files, tmp_path / "x", threads=threads, total=30)
    numbers = [int(path.stem[1:], 36) for path in (tmp_path / "x").glob("*.si")]
    assert max(numbers) > 3  # so many were written, though some were merged since
    wanted = {vector.docid: vector.impacts for vector in read_vectors(tiny_vectors)}
    with Postings(tmp_path / "x") as postings:
        found = postings.vectors(list(wanted))
        if threads == 1:
            assert postings.documents() == list(wanted)  # in the order of the files
    assert dict(zip(wanted, found, strict=True)) == wanted


def test_all_vectors_come_in_batches(
    tiny_vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By number and not by id, so that an export looks at each document once."""
    monkeypatch.setattr(direct, "BUFFER_MEGABYTES", 0.0005)
    build_impact_index(tiny_vectors, tmp_path / "x", threads=2)
    delete_documents(tmp_path / "x", ["d0", "d11", "d29"])
    wanted = {one.docid: one for one in read_vectors(tiny_vectors)}
    with Postings(tmp_path / "x") as postings:
        docids = postings.documents()
        assert len(docids) == 27
        monkeypatch.setattr(Postings, "vectors", None)
        for batch in (1, 4, 27, 1000):
            assert list(postings.all_vectors(batch)) == [wanted[docid] for docid in docids]


@pytest.mark.parametrize("k", [1, 3, 30])
def test_both_give_the_same_hits(both: dict[str, Path], k: int) -> None:
    topics = [Topic(str(number), text) for number, text in enumerate(QUERIES)]
    found = []
    for index in both.values():
        with ImpactSearcher(index) as searcher:
            found.append(searcher.batch_search(topics, k))
    assert found[0] == found[1]
    assert any(ranking.hits for ranking in found[0])


def test_pyserinis_own_searcher_reads_it(both: dict[str, Path]) -> None:
    """Its classes, and the inner product as they compute it."""
    from spade_pyserini.lucene import jvm

    anserini = jvm.java_class("io.anserini.search.SimpleImpactSearcher")(str(both["direct"]))
    query = jvm.java_class("java.util.HashMap")()
    for term in ("the", "cat"):
        query.put(term, jvm.java_class("java.lang.Integer")(1))
    found = [(hit.docid, round(hit.score)) for hit in anserini.search(query, 30)]
    anserini.close()
    with ImpactSearcher(both["direct"]) as searcher:
        assert found == [tuple(hit) for hit in searcher.search("the cat", 30)]


def test_ties_at_the_last_place_are_broken_by_id(tmp_path: Path, both: dict[str, Path]) -> None:
    """More documents of one score than are looked at in the first go."""
    from spade_pyserini.index import build_foreign_index

    folder = tmp_path / "vectors"
    folder.mkdir()
    order = [f"d{(number * 7919) % 2000:04d}" for number in range(2000)]
    lines = [json.dumps({"id": docid, "vector": {"cat": 5}}) for docid in order]
    (folder / "a.jsonl").write_text("\n".join(lines))
    tokenizer = both["direct"].with_name("direct.tokenizer.json")
    build_foreign_index(folder, tmp_path / "x", tokenizer)
    with ImpactSearcher(tmp_path / "x") as searcher:
        for k in (1, 10, 1000, 1999, 2000):
            hits = searcher.search("cat", k)
            assert [hit.docid for hit in hits] == [f"d{number:04d}" for number in range(k)]
            assert {hit.score for hit in hits} == {5}


def test_reordered_documents_are_found_as_before(
    both: dict[str, Path], tiny_vectors: Path, tmp_path: Path, run: Commands
) -> None:
    flags = ("--input", tiny_vectors, "--output", tmp_path / "x", "--reorder")
    assert run("index", *flags).code == 0
    topics = [Topic(str(number), text) for number, text in enumerate(QUERIES)]
    with ImpactSearcher(both["direct"]) as plain, ImpactSearcher(tmp_path / "x") as other:
        assert other.batch_search(topics, 5) == plain.batch_search(topics, 5)
    assert run("index", *flags, "--builder", "anserini").code == 2
    with pytest.raises(OutputExistsError):
        build_impact_index(tiny_vectors, tmp_path / "x")


def test_documents_that_share_terms_stand_together() -> None:
    choose = random.Random(3)
    subjects = [[f"s{subject}w{word}" for word in range(40)] for subject in range(4)]
    vectors = [
        ImpactVector(f"d{n}", dict.fromkeys([*choose.sample(subjects[n % 4], 12), "the"], 50))
        for n in range(400)
    ]
    order = document_order(vectors)
    assert sorted(order) == list(range(400)) and order == document_order(vectors)
    neighbours = sum(one % 4 == other % 4 for one, other in pairwise(order))
    assert neighbours > 380  # 99 by chance


def test_eight_threads_give_the_serial_answers(both: dict[str, Path]) -> None:
    topics = [Topic(str(number), QUERIES[number % len(QUERIES)]) for number in range(400)]
    with ImpactSearcher(both["direct"]) as searcher:
        assert searcher.batch_search(topics, 10, 8) == searcher.batch_search(topics, 10, 1)


def test_looking_closer(both: dict[str, Path], tiny_vectors: Path) -> None:
    vector = next(iter(read_vectors(tiny_vectors)))
    with ImpactSearcher(both["direct"]) as searcher:
        assert searcher.doc(vector.docid) == vector.impacts
        assert searcher.doc("nobody") is None
        terms = list(vector.impacts)[:2]
        found = searcher.matched_terms(" ".join(terms), vector.docid)
        assert found == {term: vector.impacts[term] for term in found}
        with pytest.raises(UsageError, match="has no document 'nobody'"):
            searcher.matched_terms("cat", "nobody")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"id": "a", "vector": {"cat": 1.5}}', "an impact is no whole number"),
        ('{"id": "a", "vector": {"cat": 0}}', "an impact is below 1"),
        ('{"id": "a"}', "needs `id` and `vector`"),
        ('{"id": "a", "vector": {"cat": 1}', "docs.jsonl:"),
        ("[1]", "an object was expected"),
        ('{"id": "a", "vector": {"cat": 1, "dog": 2, "cat": 3}}', "the term cat is there twice"),
        ('{"id": "a", "vector": {"' + 40_000 * "a" + '": 1}}', "too long for Lucene"),
        ('{"id": "' + 40_000 * "a" + '", "vector": {"cat": 1}}', "too long for Lucene"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, told: str) -> None:
    (tmp_path / "docs.jsonl").write_text('{"id": "x", "vector": {"cat": 1}}\n' + line)
    with pytest.raises(JavaError) as caught:
        write_index([tmp_path / "docs.jsonl"], tmp_path / "x", threads=1, total=2)
    assert told in str(caught.value) and "docs.jsonl:2" in str(caught.value)
    assert not list((tmp_path / "x").glob("segments_*"))


def test_a_place_where_no_index_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text('{"id": "x", "vector": {"cat": 1}}\n')
    (tmp_path / "x").touch()
    with pytest.raises(ArtifactError, match=r"x: Lucene cannot write this index .*; see that"):
        write_index([tmp_path / "docs.jsonl"], tmp_path / "x", threads=1, total=1)


def test_large_impacts_are_counted_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text('{"id": "x", "vector": {"cat": 70000, "dog": 2}}\n')
    write_index([tmp_path / "docs.jsonl"], tmp_path / "x", threads=1, total=1)
    with Postings(tmp_path / "x") as postings:
        assert postings.figures().impacts == {2: 1, 70_000: 1}


def test_ids_that_are_there_twice(tmp_path: Path) -> None:
    line = '{"id": "x", "vector": {"cat": 1}}\n'
    (tmp_path / "docs.jsonl").write_text(2 * line)
    with pytest.raises(JavaError, match="the term or id x is there twice"):
        write_index([tmp_path / "docs.jsonl"], tmp_path / "x", threads=1, total=2)


def test_the_first_failure_is_told(tmp_path: Path) -> None:
    """Not one that followed from it, or being stopped afterwards."""
    (tmp_path / "docs.jsonl").write_text('{"id": "x"}\n')
    names = jvm.java_class("java.util.ArrayList")()
    names.add(str(tmp_path / "docs.jsonl"))
    indexer = jvm.our_class("ImpactIndexer").start(names, str(tmp_path / "x"), True, 1, 1.0, 0)
    while not indexer.done():
        time.sleep(0.01)
    indexer.stop()
    assert "docs.jsonl:1" in indexer.failure()


def test_a_failure_without_a_message(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl.gz").touch()
    with pytest.raises(JavaError, match=r"docs\.jsonl\.gz: java\.io\.EOFException"):
        write_index([tmp_path / "docs.jsonl.gz"], tmp_path / "x", threads=1, total=1)


def test_a_small_heap_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "v").mkdir()
    with (tmp_path / "v" / "a.jsonl").open("w") as stream:
        for number in range(20_000):
            vector = {f"t{(number * 31 + step) % 5000}": 1 + step % 200 for step in range(100)}
            stream.write(json.dumps({"id": str(number), "vector": vector}) + "\n")
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xmx20m")
    flags = ("--foreign", "--input", tmp_path / "v", "--output", tmp_path / "x")
    done = child("spade_pyserini.index", *flags)
    assert done.returncode == 0, done.stderr


def test_a_truncated_file_is_an_error(tiny_vectors: Path, tmp_path: Path) -> None:
    whole = next(tiny_vectors.glob("*.gz")).read_bytes()
    (tmp_path / "docs0000.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(JavaError, match="docs0000"):
        write_index([tmp_path / "docs0000.jsonl.gz"], tmp_path / "x", threads=1, total=2)


def test_killed_and_completed(tmp_path: Path, both: dict[str, Path]) -> None:
    """kill -9 in the middle of the build: no index, and the same command makes it."""
    folder = tmp_path / "vectors"
    folder.mkdir()
    for number in range(12):
        with gzip.open(folder / f"{number}.jsonl.gz", "wt") as stream:
            for one in range(500):
                vector = {f"t{(one * 31 + step) % 5000}": 1 + step % 200 for step in range(100)}
                stream.write(json.dumps({"id": f"{number}-{one}", "vector": vector}) + "\n")
    command = [sys.executable, "-m", "spade_pyserini.index", "--foreign", "--input", str(folder)]
    command += ["--output", str(tmp_path / "x")]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 120
    while not (tmp_path / "x.building").exists():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "x").exists()
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    assert lucene_counts(tmp_path / "x").documents == 6_000
    shutil.rmtree(folder)
