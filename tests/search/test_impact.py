from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spade_pyserini import (
    Bm25Searcher,
    ImpactSearcher,
    Topic,
    build_bm25_index,
    open_corpus,
    read_run,
    read_vectors,
    search_topics,
)
from spade_pyserini.corpora.topics import topics_name
from spade_pyserini.errors import ArtifactError, UsageError
from spade_pyserini.formats.index_manifest import IndexManifest
from spade_pyserini.index import build_foreign_index
from spade_pyserini.lucene import jvm
from spade_pyserini.search import open_searcher
from tests.commands import Commands, child, copy_artifact

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
    """The scores as the definition has them: sums of whole impacts, in Python."""
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
        whole = [term for term in everywhere if searcher.wordpieces.query_terms(term) == [term]]
        assert whole
        for term in whole:
            assert len(searcher.search(term, 100)) == 30
        assert searcher.search("cat cat CAT", 30) == searcher.search("cat", 30)


def test_batches_and_threads_change_nothing(tiny_index: Path) -> None:
    topics = [Topic(str(number), text) for number, text in enumerate(QUERIES * 5)]
    with ImpactSearcher(tiny_index) as searcher:
        serial = [searcher.search(topic.text, 20) for topic in topics]
        for threads, batch_size in ((1, 64), (4, 7), (8, 1)):
            rankings = search_topics(
                searcher, topics, hits=20, threads=threads, batch_size=batch_size
            )
            found = list(rankings)
            assert [ranking.qid for ranking in found] == [topic.qid for topic in topics]
            assert [ranking.hits for ranking in found] == serial


def test_python_threads_share_a_searcher(tiny_index: Path) -> None:
    with ImpactSearcher(tiny_index) as searcher, ThreadPoolExecutor(8) as pool:
        serial = [searcher.search(query, 10) for query in QUERIES]
        found = pool.map(lambda number: searcher.search(QUERIES[number % 6], 10), range(240))
        assert list(found) == serial * 40


def test_a_searcher_that_was_closed(tiny_index: Path) -> None:
    with ImpactSearcher(tiny_index) as looked:
        assert looked.doc("d0")
    with pytest.raises(ArtifactError, match=r"cannot search this index .*closed"):
        looked.doc("d0")
    with ImpactSearcher(tiny_index) as searcher:
        pass
    for ask in (
        lambda: searcher.search("cat"),
        lambda: searcher.matched_terms("cat", "d0"),
        lambda: searcher.unknown_terms("cat"),
        lambda: searcher.doc("d0"),
    ):
        with pytest.raises(ArtifactError, match=r"cannot search this index .*closed"):
            ask()


THEIRS = """
import sys
import jnius_config
from spade_pyserini import ImpactSearcher
from spade_pyserini.lucene import jvm
from spade_pyserini.errors import JavaError
jnius_config.set_classpath(str(jvm.anserini_jar()))
import jnius
with ImpactSearcher(sys.argv[1]) as searcher:
    assert len(searcher.search("the cat", 5)) == 5
    for ask, values in ((searcher.doc, ["d0"]), (searcher.matched_terms, ["cat", "d0"]),
                        (searcher.unknown_terms, ["cat"])):
        try:
            print(ask(*values))
        except JavaError as error:
            assert "call spade_pyserini.lucene.jvm.start() before it does" in str(error)
"""


def test_in_a_jvm_that_somebody_else_started(tiny_index: Path) -> None:
    """Anserini finds the same; what our Java is needed for refuses and says why."""
    command = [sys.executable, "-c", THEIRS, str(tiny_index)]
    done = subprocess.run(
        command, env=jvm.environment(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_an_index_whose_ids_are_no_doc_values(
    tiny_index: Path, tmp_path: Path, run: Commands
) -> None:
    """Lucene's own writer, a stored and indexed id: Anserini also gives it a doc value."""

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
    told = run("export", "--index", tmp_path / "x", "--to", "ciff", "--output", tmp_path / "c")
    assert told.code == 1 and "no binary doc value `id`" in told.err
    assert "Traceback" not in told.err and "--verify, or build it again" in told.err


@pytest.mark.parametrize("other", ["format", "Lucene77", "Lucene9x"])
def test_an_index_of_another_lucene(
    tiny_index: Path, tmp_path: Path, run: Commands, other: str
) -> None:
    """The file that names the segments has a version of its own, and the codec of each."""
    index = copy_artifact(tiny_index, tmp_path)
    path = next(index.glob("segments_*"))
    content = bytearray(path.read_bytes())
    if other == "format":
        content[content.index(b"segments") + len("segments") + 3] = 99
    else:
        content = content.replace(b"Lucene99", other.encode())
    content[-8:] = zlib.crc32(content[:-8]).to_bytes(8, "big")
    path.write_bytes(content)
    searching = run("search", "--index", index, "--query", "cat")
    for result in (searching, run("index", "--verify", "--output", index)):
        assert result.code == 1
        assert "written by another version of Lucene" in result.err and "damaged" not in result.err


def test_matched_terms_add_up_to_the_score(tiny_index: Path) -> None:
    with ImpactSearcher(tiny_index) as searcher:
        for query in QUERIES:
            for hit in searcher.search(query, 5):
                matched = searcher.matched_terms(query, hit.docid)
                assert sum(matched.values()) == hit.score
                assert set(matched) <= set(searcher.wordpieces.query_terms(query))
        with pytest.raises(UsageError, match="has no document 'nobody'"):
            searcher.matched_terms("cat", "nobody")


def test_a_query_without_terms_finds_nothing(tiny_index: Path) -> None:
    with ImpactSearcher(tiny_index) as searcher:
        assert searcher.search("") == []
        assert searcher.search("\U0001f600 [SEP]") == []


@pytest.mark.parametrize("hits", [0, -1, 1_000_000_000])
def test_hits_out_of_range(tiny_index: Path, run: Commands, hits: int) -> None:
    with ImpactSearcher(tiny_index) as searcher, pytest.raises(UsageError, match="hits is from 1"):
        searcher.search("cat", hits)
    result = run("search", "--index", tiny_index, "--query", "cat", "--hits", hits)
    assert result.code == 2
    assert "Traceback" not in result.err


def test_more_hits_than_documents(tiny_index: Path) -> None:
    with ImpactSearcher(tiny_index) as searcher:
        everything = searcher.search("the cat", 1_000_000)
        assert len(everything) <= 30
        topics = [Topic("d0", "the cat")]
        (found,) = search_topics(searcher, topics, hits=1_000_000, remove_query=True)
        assert found.hits == [hit for hit in everything if hit.docid != "d0"]
        with pytest.raises(UsageError, match="not 2,000,000"):
            list(search_topics(searcher, topics, hits=2_000_000, remove_query=True))


def test_bm25_finds_words_and_not_impacts(tiny_corpus: Path, tmp_path: Path) -> None:
    build_bm25_index(open_corpus(str(tiny_corpus)), tmp_path / "bm25")
    with Bm25Searcher(tmp_path / "bm25") as searcher:
        found = {hit.docid for hit in searcher.search("river", 30)}
    words = {doc.docid for doc in open_corpus(str(tiny_corpus)) if "river" in doc.contents.split()}
    assert found == words
    with pytest.raises(ArtifactError, match="bm25 index"):
        ImpactSearcher(tmp_path / "bm25")
    with pytest.raises(UsageError, match="takes no tokenizer"):
        open_searcher(tmp_path / "bm25", tokenizer="x")
    for k1, b in ((float("nan"), 0.4), (0.9, 7), (-1, 0.4)):
        with pytest.raises(UsageError, match="k1 of 0 or more and b from 0 to 1"):
            Bm25Searcher(tmp_path / "bm25", k1, b)


def test_an_index_made_with_another_tokenizer_is_refused(
    tiny_index: Path, tmp_path: Path, run: Commands
) -> None:
    from spade_pyserini.models.minilm import minilm_folder

    with pytest.raises(ArtifactError, match="made with another tokenizer"):
        ImpactSearcher(tiny_index, tokenizer=minilm_folder())
    index = copy_artifact(tiny_index, tmp_path)
    path = tmp_path / "tiny.tokenizer.json"
    definition = json.loads(path.read_text())
    definition["normalizer"]["lowercase"] = False
    path.write_text(json.dumps(definition))
    result = run("search", "--index", index, "--query", "cat")
    assert result.code == 1
    assert "made with another tokenizer" in result.err


def test_an_index_made_by_something_else(tiny_index: Path, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="no such index"):
        ImpactSearcher(tmp_path / "nowhere")
    index = copy_artifact(tiny_index, tmp_path)
    (tmp_path / "tiny.manifest.json").rename(tmp_path / "kept.json")
    with pytest.raises(ArtifactError, match="made by another tool, or not finished"):
        ImpactSearcher(index)
    (tmp_path / "kept.json").rename(tmp_path / "tiny.manifest.json")
    next(index.glob("segments_*")).unlink()
    with pytest.raises(ArtifactError, match="Lucene cannot open this index"):
        ImpactSearcher(index)


def test_an_index_that_is_not_what_its_manifest_says(tiny_index: Path, tmp_path: Path) -> None:
    index = copy_artifact(tiny_index, tmp_path)
    replace(IndexManifest.load(index), documents=31).save(index)
    with pytest.raises(ArtifactError, match="30 documents, its manifest says 31"):
        ImpactSearcher(index)


def test_the_command_writes_a_run(tiny_index: Path, tmp_path: Path, run: Commands) -> None:
    topics = tmp_path / "my topics.tsv"
    topics.write_text("1\tthe cat\n2\t\U0001f600\nx3\tbig river\n")
    arguments = ("--index", tiny_index, "--topics", topics, "--output", tmp_path / "run.txt")
    result = run("search", *arguments, "--hits", 3)
    assert result.code == 0
    assert "1 of 3 topics have no hit" in result.err
    rankings = read_run(tmp_path / "run.txt")
    assert [(ranking.qid, len(ranking.hits)) for ranking in rankings] == [("1", 3), ("x3", 3)]
    again = run("search", *arguments)
    assert again.code == 1
    assert "pass --overwrite" in again.err
    assert read_run(tmp_path / "run.txt") == rankings
    assert run("search", *arguments, "--overwrite").code == 0
    assert len(read_run(tmp_path / "run.txt")[0].hits) > 3


def test_topics_that_are_wordpieces_already(
    tiny_index: Path, tmp_path: Path, run: Commands
) -> None:
    plain, pieces = tmp_path / "plain.tsv", tmp_path / "topics.wp.tsv"
    plain.write_text("1\tcat\n2\tdelete ##s\n3\t### the cat\n")
    arguments = ("--index", tiny_index, "--output", tmp_path / "run.txt")
    assert run("search", *arguments, "--topics", plain).code == 0
    assert run("topics", "--topics", plain, "--index", tiny_index, "--output", pieces).code == 0
    refused = run("search", *arguments, "--topics", pieces, "--overwrite")
    assert refused.code == 2
    assert "topic 2 holds WordPieces already" in refused.err
    pieces.write_text("1\tcat\n2\tzeb ##ra\n3\tthe cat\n4\tgi ##raf ##fe\n5\tcat ## dog\n")
    refused = run("search", *arguments, "--topics", pieces, "--overwrite")
    assert refused.code == 2
    assert "2 of 5 topics hold WordPieces of another tokenizer ('zeb ##ra')" in refused.err


def test_verbose_names_unknown_wordpieces(tiny_index: Path, tmp_path: Path, run: Commands) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "a.jsonl").write_text('{"id": "a", "vector": {"cat": 1}}')
    build_foreign_index(tmp_path / "v", tmp_path / "x", tiny_index.with_name("tiny.tokenizer.json"))
    (tmp_path / "t.tsv").write_text("q1\tcat\nq2\tcat deletes\nq3\tcat \u4e2d \u9fa5\n")
    arguments = ("--index", tmp_path / "x", "--topics", tmp_path / "t.tsv", "--output")
    shown = run("search", *arguments, tmp_path / "run.txt", "--verbose")
    assert shown.code == 0
    assert "topic q2: ignored, as no document has it: del ##ete ##s" in shown.err
    assert "topic q3: ignored, 2 that the vocabulary cannot spell: \u4e2d \u9fa5" in shown.err
    assert "topic q1" not in shown.err


def test_runs_are_named_after_their_topics() -> None:
    names = ["topics.dl19.tsv", "x/topics.dl20.tsv.gz", "pydoc-test", "queries.v2.jsonl"]
    assert [topics_name(name) for name in names] == ["dl19", "dl20", "pydoc-test", "queries.v2"]


def test_a_query_of_thousands_of_terms(tmp_path: Path) -> None:
    words = [f"word{number}" for number in range(3000)]
    (tmp_path / "c.jsonl").write_text(json.dumps({"id": "d", "contents": " ".join(words)}))
    build_bm25_index(open_corpus(str(tmp_path / "c.jsonl")), tmp_path / "bm25")
    with Bm25Searcher(tmp_path / "bm25") as searcher:
        assert [hit.docid for hit in searcher.search(" ".join(words))] == ["d"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--query", "cat \udcff"),
        ("--query", "cat", "--output", "x.txt"),
        ("--query", "cat", "--remove-query"),
        ("--topics", "pydoc-dev", "--corpus", "pydoc"),
        ("--topics", "pydoc-dev", "--max-passage", "--max-passage-delimiter", "", "--output", "x"),
        ("--query", "cat", "--threads", "100000"),
    ],
)
def test_flags_that_make_no_sense(
    tiny_index: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: Commands,
    arguments: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("search", "--index", tiny_index, *arguments)
    assert result.code == 2
    assert "Traceback" not in result.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("output", ["folder", "file/x", "x" * 300])
def test_places_where_no_run_can_be_written(
    tiny_index: Path, tmp_path: Path, run: Commands, output: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    arguments = ("--index", tiny_index, "--topics", "pydoc-dev", "--overwrite")
    result = run("search", *arguments, "--output", tmp_path / output)
    assert result.code == 1
    assert result.err.startswith("error: ")


def test_ctrl_c_leaves_nothing_half_written(tiny_index: Path, tmp_path: Path) -> None:
    topics = tmp_path / "many.tsv"
    topics.write_text("".join(f"{number}\tthe old cat\n" for number in range(40_000)))
    command = [sys.executable, "-m", "spade_pyserini.search", "--index", str(tiny_index)]
    command += ["--topics", str(topics), "--output", str(tmp_path / "run.txt")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / ".run.txt.tmp").exists():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.01)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "interrupted; run the same command again" in err
    assert {path.name for path in tmp_path.iterdir()} == {"many.tsv"}


def test_one_query_for_a_person(tiny_index: Path, tiny_corpus: Path, run: Commands) -> None:
    arguments = ("--index", tiny_index, "--query", "the cat", "--hits", 2, "--corpus", tiny_corpus)
    result = run("search", *arguments)
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0] == "query: the cat"
    assert len(lines) == 5
    assert "the:" in result.out
    assert run("search", "--index", tiny_index, "--query", "\u4e2d").out.endswith(
        "no document has any of these terms\n"
    )


@pytest.mark.parametrize("arguments", [(), ("--topics", "pydoc", "--query", "x")])
def test_calls_that_make_no_sense(
    tiny_index: Path, run: Commands, arguments: tuple[str, ...]
) -> None:
    assert run("search", "--index", tiny_index, *arguments).code == 2


def test_searching_imports_no_model(tiny_index: Path) -> None:
    code = (
        "import sys; from spade_pyserini import ImpactSearcher; "
        f"ImpactSearcher({str(tiny_index)!r}).search('cat'); "
        "print(sorted({'torch', 'transformers', 'pyserini', 'sklearn'} & set(sys.modules)))"
    )
    done = child("timeit", "-n1", "-r1", code)
    assert done.stdout.splitlines()[0] == "[]", done.stderr
