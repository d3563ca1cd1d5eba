"""Search an impact index."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from spade_pyserini import ImpactSearcher, read_vectors
from spade_pyserini.errors import ArtifactError, UsageError
from spade_pyserini.index import build_foreign_index
from spade_pyserini.index.opening import open_postings
from spade_pyserini.lucene import jvm, runtime
from spade_pyserini.records import Topic
from tests.commands import Commands, child

pytestmark = pytest.mark.java

QUERIES = [
    "cat",
    "the old cat sleeps in the house",
    "a big red dog and a small blue bird",
    "delete the folder, delete it",
    "open close read write copy move",
    "s t u v w x y z",
]


def inner_products(query_terms: list[str], vectors: Path) -> dict[str, int]:
    """Compute the scores by their definition: sums of impacts."""
    scores = {
        docid: sum(impacts.get(term, 0) for term in set(query_terms))
        for docid, impacts in read_vectors(vectors)
    }
    return {docid: score for docid, score in scores.items() if score > 0}


@pytest.mark.parametrize("query", QUERIES)
def test_lucene_scores_are_the_inner_products(
    tiny_index: Path, tiny_vectors: Path, query: str
) -> None:
    with ImpactSearcher(tiny_index) as searcher:
        hits = searcher.search(query, 100)
        expected = inner_products(searcher.wordpieces.query_terms(query), tiny_vectors)
    assert {hit.docid: hit.score for hit in hits} == expected
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.docid))


def test_terms_in_every_document_still_count_and_repeated_ones_count_once(
    tiny_index: Path, tiny_vectors: Path
) -> None:
    documents = [set(impacts) for _, impacts in read_vectors(tiny_vectors)]
    everywhere = set.intersection(*documents)
    with ImpactSearcher(tiny_index) as searcher:
        words = [term for term in everywhere if searcher.wordpieces.query_terms(term) == [term]]
        assert words
        for term in words:
            assert len(searcher.search(term, 100)) == 30
        assert searcher.search("cat cat CAT", 30) == searcher.search("cat", 30)


def test_python_threads_share_a_searcher(tiny_index: Path) -> None:
    with ImpactSearcher(tiny_index) as searcher, ThreadPoolExecutor(8) as pool:
        serial = [searcher.search(query, 10) for query in QUERIES]
        results = pool.map(lambda number: searcher.search(QUERIES[number % 6], 10), range(240))
        assert list(results) == serial * 40


def test_a_searcher_that_was_closed(tiny_index: Path) -> None:
    with ImpactSearcher(tiny_index) as searcher:
        assert searcher.doc("d0")
    with pytest.raises(ArtifactError, match=r"cannot search this index .*closed"):
        searcher.doc("d0")
    with ImpactSearcher(tiny_index) as searcher:
        pass
    for call in (
        lambda: searcher.search("cat"),
        lambda: searcher.matched_terms("cat", "d0"),
        lambda: searcher.unknown_terms("cat"),
        lambda: searcher.doc("d0"),
    ):
        with pytest.raises(ArtifactError, match=r"cannot search this index .*closed"):
            call()


FOREIGN_JVM = """
import sys
import jnius_config
from spade_pyserini import ImpactSearcher
from spade_pyserini.lucene import runtime
from spade_pyserini.errors import JavaError
jnius_config.set_classpath(str(runtime.anserini_jar()))
import jnius
with ImpactSearcher(sys.argv[1]) as searcher:
    assert len(searcher.search("the cat", 5)) == 5
    for method, values in ((searcher.doc, ["d0"]), (searcher.matched_terms, ["cat", "d0"]),
                        (searcher.unknown_terms, ["cat"])):
        try:
            print(method(*values))
        except JavaError as error:
            assert "call spade_pyserini.lucene.jvm.start() before you use" in str(error)
"""


def test_in_a_jvm_that_somebody_else_started(tiny_index: Path) -> None:
    """Searches use Anserini; methods that need spade.jar raise an error that says why."""
    command = [sys.executable, "-c", FOREIGN_JVM, str(tiny_index)]
    done = subprocess.run(
        command, env=runtime.environment(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_an_index_whose_ids_are_no_doc_values(
    tiny_index: Path, tmp_path: Path, run: Commands
) -> None:
    """Lucene's IndexWriter writes the index: the id is stored, but is not a doc value."""

    def lucene(name: str) -> Any:
        return jvm.java_class(f"org.apache.lucene.{name}")

    directory = lucene("store.FSDirectory").open(
        jvm.java_class("java.nio.file.Paths").get(str(tmp_path / "x"))
    )
    writer = lucene("index.IndexWriter")(directory, lucene("index.IndexWriterConfig")())
    document, stored = lucene("document.Document")(), lucene("document.Field$Store").YES
    for name, text in (("id", "a"), ("contents", "cat")):
        document.add(lucene("document.StringField")(name, text, stored))
    writer.addDocument(document)
    writer.close()
    tokenizer = tiny_index.with_name("tiny.tokenizer.json")
    with pytest.raises(ArtifactError, match="no binary doc value `id`"):
        ImpactSearcher(tmp_path / "x", tokenizer)
    result = run("export", "--index", tmp_path / "x", "--to", "ciff", "--output", tmp_path / "c")
    assert result.code == 1 and "no binary doc value `id`" in result.err
    assert "Traceback" not in result.err and "--verify`, or build it again" in result.err


def test_matched_terms_add_up_to_the_score(tiny_index: Path) -> None:
    with ImpactSearcher(tiny_index) as searcher:
        for query in QUERIES:
            for hit in searcher.search(query, 5):
                matched = searcher.matched_terms(query, hit.docid)
                assert sum(matched.values()) == hit.score
                assert set(matched) <= set(searcher.wordpieces.query_terms(query))
        with pytest.raises(UsageError, match="has no document 'no-such-id'"):
            searcher.matched_terms("cat", "no-such-id")


def test_a_query_without_terms_finds_nothing(tiny_index: Path) -> None:
    with ImpactSearcher(tiny_index) as searcher:
        assert searcher.search("") == []
        assert searcher.search("\U0001f600 [SEP]") == []


def test_searching_imports_no_model(tiny_index: Path) -> None:
    code = (
        "import sys; from spade_pyserini import ImpactSearcher; "
        f"ImpactSearcher({str(tiny_index)!r}).search('cat'); "
        "print(sorted({'torch', 'transformers', 'pyserini', 'sklearn'} & set(sys.modules)))"
    )
    done = child("timeit", "-n1", "-r1", code)
    assert done.stdout.splitlines()[0] == "[]", done.stderr


def test_ties_at_the_last_rank_are_broken_by_id(tmp_path: Path, tiny_index: Path) -> None:
    """More documents tie than Lucene collects in the first pass."""

    folder = tmp_path / "vectors"
    folder.mkdir()
    order = [f"d{(number * 7919) % 2000:04d}" for number in range(2000)]
    lines = [json.dumps({"id": docid, "vector": {"cat": 5}}) for docid in order]
    (folder / "a.jsonl").write_text("\n".join(lines))
    tokenizer = tiny_index.with_name("tiny.tokenizer.json")
    build_foreign_index(folder, tmp_path / "x", tokenizer)
    with ImpactSearcher(tmp_path / "x") as searcher:
        for k in (1, 10, 1000, 1999, 2000):
            hits = searcher.search("cat", k)
            assert [hit.docid for hit in hits] == [f"d{number:04d}" for number in range(k)]
            assert {hit.score for hit in hits} == {5}


def test_eight_threads_give_the_serial_answers(tiny_index: Path) -> None:
    topics = [Topic(str(number), QUERIES[number % len(QUERIES)]) for number in range(400)]
    with ImpactSearcher(tiny_index) as searcher:
        assert searcher.batch_search(topics, 10, 8) == searcher.batch_search(topics, 10, 1)


def test_the_impacts_of_a_document(tiny_index: Path, tiny_vectors: Path) -> None:
    vector = next(iter(read_vectors(tiny_vectors)))
    with ImpactSearcher(tiny_index) as searcher:
        assert searcher.doc(vector.docid) == vector.impacts
        assert searcher.doc("no-such-id") is None
        terms = list(vector.impacts)[:2]
        matched = searcher.matched_terms(" ".join(terms), vector.docid)
        assert matched == {term: vector.impacts[term] for term in matched}
        with pytest.raises(UsageError, match="has no document 'no-such-id'"):
            searcher.matched_terms("cat", "no-such-id")


def test_some_terms_of_a_query_are_searched(tiny_index: Path) -> None:
    with ImpactSearcher(tiny_index) as searcher:
        assert searcher.search_terms(["old", "cat"], 30) == searcher.search("old cat", 30)
        (best, *_) = searcher.search_terms(["cat"], 30)
        assert searcher.matched_terms("cat", best.docid) == {"cat": best.score}
        assert searcher.search_terms([]) == []
        with pytest.raises(UsageError, match="from 1 to"):
            searcher.search_terms(["cat"], 0)


def test_document_frequencies_count_the_documents_of_a_term(tiny_index: Path) -> None:
    with ImpactSearcher(tiny_index) as searcher, open_postings(tiny_index) as postings:
        expected = {term.term: len(term.documents) for term in postings.terms()}
        assert searcher.document_frequencies([*expected, "##q"]) == {**expected, "##q": 0}
        assert searcher.document_frequencies([]) == {}
