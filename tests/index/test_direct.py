"""The direct builder gives the same postings and hits as Anserini's IndexCollection."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from spade_pyserini import ImpactSearcher, read_vectors
from spade_pyserini.errors import ArtifactError, JavaError
from spade_pyserini.index import direct
from spade_pyserini.index.counts import lucene_counts
from spade_pyserini.index.direct import write_index
from spade_pyserini.index.postings import Postings
from spade_pyserini.lucene import jvm
from spade_pyserini.records import Topic
from tests.commands import child

pytestmark = pytest.mark.java

QUERIES = ["cat", "the old dog", "fish and bird and fish", "zebra", "", "the the cat"]


def test_both_builders_write_the_same_postings(
    both_indexes: dict[str, Path], tiny_vectors: Path
) -> None:
    expected = {vector.docid: vector.impacts for vector in read_vectors(tiny_vectors)}
    assert sum(map(len, expected.values())) > 100
    for index in both_indexes.values():
        with Postings(index) as postings:
            indexed = postings.vectors(list(expected))
            assert postings.vectors(["no-such-id"]) == [None]
        assert dict(zip(expected, indexed, strict=True)) == expected
    assert lucene_counts(both_indexes["direct"]) == lucene_counts(both_indexes["anserini"])


@pytest.mark.parametrize("threads", [1, 2])
def test_many_segments_hold_the_same_postings(
    tiny_vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    """With memory for a few documents only, many segments are written."""
    monkeypatch.setattr(direct, "BUFFER_MEGABYTES", 0.0005)
    files = sorted(tiny_vectors.glob("*.gz"))
    write_index(files, tmp_path / "x", threads=threads, total=30)
    numbers = [int(path.stem[1:], 36) for path in (tmp_path / "x").glob("*.si")]
    assert max(numbers) > 3  # segments are numbered from 0, so there were at least five
    expected = {vector.docid: vector.impacts for vector in read_vectors(tiny_vectors)}
    with Postings(tmp_path / "x") as postings:
        indexed = postings.vectors(list(expected))
        if threads == 1:
            assert postings.documents() == list(expected)  # documents keep the order of the files
    assert dict(zip(expected, indexed, strict=True)) == expected


@pytest.mark.parametrize("k", [1, 3, 30])
def test_indexes_of_both_builders_give_the_same_hits(both_indexes: dict[str, Path], k: int) -> None:
    topics = [Topic(str(number), text) for number, text in enumerate(QUERIES)]
    rankings = []
    for index in both_indexes.values():
        with ImpactSearcher(index) as searcher:
            rankings.append(searcher.batch_search(topics, k))
    assert rankings[0] == rankings[1]
    assert any(ranking.hits for ranking in rankings[0])


def test_pyserinis_own_searcher_reads_it(both_indexes: dict[str, Path]) -> None:
    """Anserini's searcher computes the same inner products on an index of the direct builder."""
    from spade_pyserini.lucene import jvm

    anserini = jvm.java_class("io.anserini.search.SimpleImpactSearcher")(
        str(both_indexes["direct"])
    )
    query = jvm.java_class("java.util.HashMap")()
    for term in ("the", "cat"):
        query.put(term, jvm.java_class("java.lang.Integer")(1))
    hits = [(hit.docid, round(hit.score)) for hit in anserini.search(query, 30)]
    anserini.close()
    with ImpactSearcher(both_indexes["direct"]) as searcher:
        assert hits == [tuple(hit) for hit in searcher.search("the cat", 30)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "a", "vector": {"cat": 1.5}}', "an impact is not an integer"),
        ('{"id": "a", "vector": {"cat": 0}}', "an impact is below 1"),
        ('{"id": "a"}', "needs `id` and `vector`"),
        ('{"id": "a", "vector": {"cat": 1}', "docs.jsonl:"),
        ("[1]", "an object was expected"),
        ('{"id": "a", "vector": {"cat": 1, "dog": 2, "cat": 3}}', "the term cat occurs twice"),
        ('{"id": "a", "vector": {"' + 40_000 * "a" + '": 1}}', "too long for Lucene"),
        ('{"id": "' + 40_000 * "a" + '", "vector": {"cat": 1}}', "too long for Lucene"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "docs.jsonl").write_text('{"id": "x", "vector": {"cat": 1}}\n' + line)
    with pytest.raises(JavaError) as caught:
        write_index([tmp_path / "docs.jsonl"], tmp_path / "x", threads=1, total=2)
    assert message in str(caught.value) and "docs.jsonl:2" in str(caught.value)
    assert not list((tmp_path / "x").glob("segments_*"))


def test_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text('{"id": "x", "vector": {"cat": 1}}\n')
    (tmp_path / "x").touch()
    with pytest.raises(ArtifactError, match=r"x: Lucene cannot write this index .*; check that"):
        write_index([tmp_path / "docs.jsonl"], tmp_path / "x", threads=1, total=1)


def test_duplicate_ids(tmp_path: Path) -> None:
    line = '{"id": "x", "vector": {"cat": 1}}\n'
    (tmp_path / "docs.jsonl").write_text(2 * line)
    with pytest.raises(JavaError, match="the term or id x occurs twice"):
        write_index([tmp_path / "docs.jsonl"], tmp_path / "x", threads=1, total=2)


def test_the_first_failure_is_reported(tmp_path: Path) -> None:
    """A later failure, such as being stopped, does not replace the first failure."""
    (tmp_path / "docs.jsonl").write_text('{"id": "x"}\n')
    names = jvm.java_class("java.util.ArrayList")()
    names.add(str(tmp_path / "docs.jsonl"))
    everything = jvm.spade_class("Pruning")(1.0, 0.0)
    start = jvm.spade_class("ImpactIndexer").start
    indexer = start(names, str(tmp_path / "x"), True, 1, 1.0, 0, everything, None)
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
    complete = next(tiny_vectors.glob("*.gz")).read_bytes()
    (tmp_path / "docs0000.jsonl.gz").write_bytes(complete[: len(complete) // 2])
    with pytest.raises(JavaError, match="docs0000"):
        write_index([tmp_path / "docs0000.jsonl.gz"], tmp_path / "x", threads=1, total=2)
