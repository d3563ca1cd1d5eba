"""Impact indexes for other engines: the same vectors, and where they run here, the same hits."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from spade_pyserini import ImpactSearcher, read_vectors
from spade_pyserini.errors import (
    ArtifactError,
    InputError,
    NotFoundError,
    OutputExistsError,
    SpadeError,
    UsageError,
)
from spade_pyserini.export import opensearch
from spade_pyserini.export.ciff import read_ciff, write_ciff
from spade_pyserini.export.opensearch import feature, query, write_bulk
from spade_pyserini.export.vocabulary import known_vectors
from spade_pyserini.index import build_foreign_index, delete_documents, verify_index
from spade_pyserini.index.postings import Postings
from spade_pyserini.lucene import jvm
from spade_pyserini.models.minilm import minilm_folder
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.records import Hit, ImpactVector, Topic
from tests.commands import Commands, copy_artifact

QUERIES = ["cat", "the old dog", "fish and bird and fish", "the the cat", ""]


@pytest.fixture(scope="module")
def wanted(tiny_vectors: Path) -> dict[str, dict[str, int]]:
    return {vector.docid: vector.impacts for vector in read_vectors(tiny_vectors)}


def same_hits(ours: list[Hit], theirs: list[Hit], k: int) -> None:
    """The same scores; the same documents, but for those that tie with the last one."""
    assert [hit.score for hit in theirs] == [hit.score for hit in ours]
    last = ours[-1].score if len(ours) == k else 0
    assert {hit for hit in theirs if hit.score > last} == {hit for hit in ours if hit.score > last}


# CIFF


def test_ciff_and_back(
    tiny_index: Path,
    tiny_vectors: Path,
    wanted: dict[str, dict[str, int]],
    tmp_path: Path,
    run: Commands,
) -> None:
    path = tmp_path / "tiny.ciff"
    assert run("export", "--index", tiny_index, "--to", "ciff", "--output", path).code == 0
    found = read_ciff(path)
    assert found.vectors == wanted
    assert found.description == "tiny"
    with pytest.raises(OutputExistsError):
        write_ciff(tiny_index, path)
    flags = ("--to", "ciff", "--output", tmp_path / "direct.ciff")
    assert run("export", "--input", tiny_vectors, *flags).code == 0
    assert read_ciff(tmp_path / "direct.ciff") == found
    assert write_ciff(tiny_index, path, overwrite=True) == len(set().union(*wanted.values()))


def test_ciff_without_deleted_documents(
    tiny_index: Path, wanted: dict[str, dict[str, int]], tmp_path: Path
) -> None:
    index = copy_artifact(tiny_index, tmp_path)
    gone = ["d0", "d7", "d29"]
    delete_documents(index, gone)
    write_ciff(index, tmp_path / "x.ciff")
    left = {docid: impacts for docid, impacts in wanted.items() if docid not in gone}
    assert read_ciff(tmp_path / "x.ciff").vectors == left


def test_a_damaged_ciff_file(tiny_index: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.ciff"
    write_ciff(tiny_index, path)
    whole = path.read_bytes()
    for content in (whole[:-5], whole[:40], b"", whole + b"\0", b"\xff" * 50):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"x\.ciff"):
            read_ciff(path)


# PISA


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("algorithm", ["maxscore", "block_max_wand"])
def test_pisa_finds_the_same(tiny_index: Path, tmp_path: Path, algorithm: str) -> None:
    pytest.importorskip("pyterrier_pisa", reason="needs pip install 'spade_pyserini[pisa]'")
    from spade_pyserini.export.pisa import PisaSearcher, write_pisa

    assert write_pisa(tiny_index, tmp_path / "pisa") == 30
    with pytest.raises(OutputExistsError):
        write_pisa(tiny_index, tmp_path / "pisa")
    engine = PisaSearcher(tmp_path / "pisa", algorithm)
    topics = [Topic(str(number), text) for number, text in enumerate(QUERIES)]
    with ImpactSearcher(tiny_index) as searcher:
        for k in (3, 30):
            pairs = zip(
                searcher.batch_search(topics, k), engine.batch_search(topics, k), strict=True
            )
            for ours, theirs in pairs:
                assert ours.qid == theirs.qid
                same_hits(ours.hits, theirs.hits, k)


@pytest.mark.filterwarnings("ignore")
def test_a_pisa_index_is_replaced_when_the_new_one_is_whole(
    tiny_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyterrier_pisa", reason="needs pip install 'spade_pyserini[pisa]'")
    from spade_pyserini.export import pisa

    folder = tmp_path / "pisa"
    pisa.write_pisa(tiny_index, folder)
    assert pisa.write_pisa(tiny_index, folder, overwrite=True) == 30
    before = sorted(path.name for path in tmp_path.rglob("*"))
    monkeypatch.setattr(pisa.PisaSearcher, "search", _no_space)
    with pytest.raises(OSError, match="no space"):
        pisa.write_pisa(tiny_index, folder, overwrite=True)
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


def _no_space(*_: object) -> None:
    raise OSError("no space")


def test_pisa_replaces_nothing_but_a_pisa_index(
    tiny_index: Path, tmp_path: Path, run: Commands
) -> None:
    """Whether PISA is installed or not."""
    thesis = tmp_path / "thesis" / "chapter1.tex"
    thesis.parent.mkdir()
    thesis.write_text("keep")
    index = copy_artifact(tiny_index, tmp_path)
    flags = ("--index", index, "--to", "pisa", "--overwrite")
    refused = run("export", *flags, "--output", thesis.parent)
    assert refused.code == 1 and "holds chapter1.tex" in refused.err
    assert thesis.read_text() == "keep"
    refused = run("export", *flags, "--output", index.parent / "x" / ".." / index.name)
    assert refused.code == 2 and "is the Lucene index itself" in refused.err
    assert verify_index(index).documents == 30


# OpenSearch


@pytest.mark.parametrize("kind", ["rank_features", "sparse_vector"])
def test_a_bulk_file_and_its_query(
    tiny_index: Path, wanted: dict[str, dict[str, int]], tmp_path: Path, kind: str, run: Commands
) -> None:
    flags = ("--to", "opensearch", "--output", tmp_path / "tiny", "--field", kind)
    shown = run("export", "--index", tiny_index, *flags)
    mapping, example, bulk = (Path(line) for line in shown.out.split())
    assert json.loads(mapping.read_text()) == {
        "mappings": {"properties": {"impacts": {"type": kind}}}
    }
    lines = [json.loads(line) for line in bulk.read_text().splitlines()]
    pairs = zip(lines[::2], lines[1::2], strict=True)
    found = {action["index"]["_id"]: document["impacts"] for action, document in pairs}
    assert found == {docid: _features(impacts) for docid, impacts in wanted.items()}

    with ImpactSearcher(tiny_index) as searcher:
        asked = query(searcher.wordpieces, "the cat the", 5, kind)
        hits = searcher.search("the cat the", 30)
        nothing = query(searcher.wordpieces, " ", 5, kind)
    assert nothing["query"] == {"match_none": {}}  # theirs would find all documents
    first, impacts = next(iter(found.items()))
    strongest = sum(sorted(impacts.values())[-2:])
    assert _score(json.loads(example.read_text())["query"], found[first]) == strongest
    assert asked["size"] == 5
    scores = {docid: _score(asked["query"], impacts) for docid, impacts in found.items()}
    assert {hit.docid: hit.score for hit in hits} == {d: s for d, s in scores.items() if s}
    with pytest.raises(OutputExistsError):
        write_bulk(tiny_index, tmp_path / "tiny", kind)


def _features(impacts: dict[str, int]) -> dict[str, int]:
    return {feature(term): impact for term, impact in impacts.items()}


def _score(asked: dict[str, Any], impacts: dict[str, int]) -> float:
    """What the engines say that such a query computes."""
    if "sparse_vector" in asked:
        vector = asked["sparse_vector"]["query_vector"]
        return float(sum(weight * impacts.get(term, 0) for term, weight in vector.items()))
    names = [one["rank_feature"]["field"] for one in asked["bool"]["should"]]
    assert all(one["rank_feature"]["linear"] == {} for one in asked["bool"]["should"])
    return sum(impacts.get(name.removeprefix("impacts."), 0) for name in names)


def test_a_full_stop_is_no_path(tmp_path: Path) -> None:
    """Over all of BERT's vocabulary: no name with a full stop, and no name twice."""
    terms = WordPieces.load(minilm_folder()).terms
    assert {".", "...", "##."} <= set(terms)
    assert feature(".") == "[full-stop]" and feature("a") == "a"
    assert len({feature(term) for term in terms}) == len(terms)
    (tmp_path / "v").mkdir()
    vector = {"id": "a.b", "vector": dict.fromkeys(terms, 1)}
    (tmp_path / "v" / "a.jsonl").write_text(json.dumps(vector))
    build_foreign_index(tmp_path / "v", tmp_path / "x")
    write_bulk(tmp_path / "x", tmp_path / "out")
    _, line = (tmp_path / "out.bulk-0000.ndjson").read_text().splitlines()
    names = json.loads(line)["impacts"]
    assert len(names) == len(terms) and not [name for name in names if "." in name]


def test_bulk_files_of_more_documents_are_not_left(
    tiny_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opensearch, "BULK", 10)
    index = copy_artifact(tiny_index, tmp_path)
    assert len(write_bulk(index, tmp_path / "out")) == 5
    other = tmp_path / "other.bulk-0000.ndjson"
    other.write_text("keep")
    for name in ("mapping", "query"):
        (tmp_path / f"out.{name}.json").unlink()
    with pytest.raises(OutputExistsError, match=r"out\.bulk-0000"):
        write_bulk(index, tmp_path / "out")
    delete_documents(index, [f"d{number}" for number in range(15)])
    written = write_bulk(index, tmp_path / "out", overwrite=True)
    assert sorted(tmp_path.glob("*.bulk-*")) == [other, *written[2:]] and len(written) == 4


def test_a_bulk_export_that_fails_leaves_the_old_one(
    tiny_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opensearch, "BULK", 10)
    write_bulk(tiny_index, tmp_path / "out")
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    real = opensearch._lines

    def full(vectors: list[ImpactVector]) -> Iterator[str]:
        if vectors[0].docid == "d20":
            raise OSError("no space")
        return real(vectors)

    monkeypatch.setattr(opensearch, "_lines", full)
    with pytest.raises(OSError, match="no space"):
        write_bulk(tiny_index, tmp_path / "out", "sparse_vector", overwrite=True)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


def test_the_mapping_comes_last(
    tiny_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed while the files get their names: without a mapping nobody takes them for whole."""
    write_bulk(tiny_index, tmp_path / "out")
    real = Path.replace

    def killed(self: Path, target: Path) -> Path:
        if target.name == "out.query.json":
            raise KeyboardInterrupt
        return real(self, target)

    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        write_bulk(tiny_index, tmp_path / "out", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["out.bulk-0000.ndjson"]


@pytest.mark.parametrize("kind", opensearch.KINDS)
def test_impacts_that_both_fields_would_round(tmp_path: Path, kind: str) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "a.jsonl").write_text('{"id": "a", "vector": {"cat": 600}}')
    build_foreign_index(tmp_path / "v", tmp_path / "x")
    with pytest.raises(UsageError, match=f"600, {kind} keeps whole numbers to 511; encode"):
        write_bulk(tmp_path / "x", tmp_path / "out", kind)


def test_the_field_behind_rank_features(
    tiny_index: Path, wanted: dict[str, dict[str, int]], tmp_path: Path
) -> None:
    """Both engines keep `rank_features` in Lucene's FeatureField and ask it for linear scores."""
    write_bulk(tiny_index, tmp_path / "tiny")
    lines = (tmp_path / "tiny.bulk-0000.ndjson").read_text().splitlines()
    documents = [json.loads(line)["impacts"] for line in lines[1::2]]
    docids = [json.loads(line)["index"]["_id"] for line in lines[::2]]
    search = feature_search([*documents, {"exact": 511, "rounded": 513}])
    assert search(["exact"], 1) == [(len(documents), 511)]
    assert search(["rounded"], 1) != [(len(documents), 513)]
    with ImpactSearcher(tiny_index) as searcher:
        for text in QUERIES:
            asked = query(searcher.wordpieces, text)["query"].get("bool", {}).get("should", [])
            names = [one["rank_feature"]["field"].removeprefix("impacts.") for one in asked]
            found = [Hit(docids[place], round(score)) for place, score in search(names, 30)]
            same_hits(searcher.search(text, 30), found, 30)


def feature_search(
    documents: list[dict[str, int]],
) -> Callable[[list[str], int], list[tuple[int, float]]]:
    """A Lucene index of feature fields in memory; gives places of documents, and scores."""

    def lucene(name: str) -> Any:
        return jvm.java_class(f"org.apache.lucene.{name}")

    directory = lucene("store.ByteBuffersDirectory")()
    writer = lucene("index.IndexWriter")(directory, lucene("index.IndexWriterConfig")())
    for impacts in documents:
        document = lucene("document.Document")()
        for name, impact in impacts.items():
            document.add(lucene("document.FeatureField")("impacts", name, float(impact)))
        writer.addDocument(document)
    writer.close()
    context = lucene("index.DirectoryReader").open(directory).getContext()
    searcher = lucene("search.IndexSearcher")(context)
    should = lucene("search.BooleanClause$Occur").SHOULD

    def search(names: list[str], k: int) -> list[tuple[int, float]]:
        builder = lucene("search.BooleanQuery$Builder")()
        for name in names:
            linear = lucene("document.FeatureField").newLinearQuery("impacts", name, 1.0)
            builder.add(linear, should)
        return [(hit.doc, hit.score) for hit in searcher.search(builder.build(), k).scoreDocs]

    return search


# Milvus


@pytest.mark.filterwarnings("ignore")
def test_milvus_finds_the_same(tiny_index: Path, tmp_path: Path, run: Commands) -> None:
    pytest.importorskip("pymilvus", reason="needs pip install 'spade_pyserini[milvus]'")
    from spade_pyserini.export.milvus import MilvusSearcher

    flags = ("--index", tiny_index, "--to", "milvus", "--uri", tmp_path / "tiny.db")
    shown = run("export", *flags)
    assert shown.code == 0 and shown.out.split()[-1] == "tiny"
    again = run("export", *flags)
    assert again.code == 1 and "pass --overwrite" in again.err
    with ImpactSearcher(tiny_index) as searcher:
        engine = MilvusSearcher(str(tmp_path / "tiny.db"), "tiny", searcher.wordpieces)
        try:
            for text in QUERIES:
                same_hits(searcher.search(text, 5), engine.search(text, 5), 5)
        finally:
            engine.close()


@pytest.mark.filterwarnings("ignore")
def test_a_collection_stays_until_the_new_one_is_whole(
    tiny_index: Path, tmp_path: Path, run: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    pymilvus = pytest.importorskip("pymilvus", reason="needs 'spade_pyserini[milvus]'")
    uri, client = str(tmp_path / "tiny.db"), pymilvus.MilvusClient
    flags = ("--index", tiny_index, "--to", "milvus", "--uri", uri)
    assert run("export", *flags).code == 0
    real = client.insert

    def refuse(*_: object) -> None:
        raise pymilvus.MilvusException(message="quota exceeded")

    def lose_one(self: object, collection: str, rows: list[object]) -> Any:
        return real(self, collection, rows[1:])

    for insert, told in ((refuse, "refused: quota exceeded"), (lose_one, "has 29 of 30 documents")):
        monkeypatch.setattr(client, "insert", insert)
        failed = run("export", *flags, "--overwrite")
        assert failed.code == 1 and told in failed.err and "Traceback" not in failed.err
    monkeypatch.setattr(client, "insert", real)
    there = client(uri)
    try:
        assert there.list_collections() == ["tiny"]
        assert there.get_collection_stats("tiny")["row_count"] == 30
    finally:
        there.close()
    assert run("export", *flags, "--overwrite").code == 0


@pytest.mark.filterwarnings("ignore")
def test_a_collection_that_cannot_be_renamed(
    tiny_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old one keeps its name; killed in between, it gets it back."""
    pymilvus = pytest.importorskip("pymilvus", reason="needs 'spade_pyserini[milvus]'")
    from spade_pyserini.export.milvus import write_milvus

    uri, client = str(tmp_path / "tiny.db"), pymilvus.MilvusClient
    write_milvus(tiny_index, uri, "tiny")
    real = client.rename_collection

    def refuse(self: object, old: str, new: str) -> None:
        if old == "tiny_building":
            raise pymilvus.MilvusException(message="not now")
        real(self, old, new)

    monkeypatch.setattr(client, "rename_collection", refuse)
    with pytest.raises(SpadeError, match="refused: not now"):
        write_milvus(tiny_index, uri, "tiny", overwrite=True)
    monkeypatch.setattr(client, "rename_collection", real)
    there = client(uri)
    try:
        assert there.list_collections() == ["tiny"]
        assert there.get_collection_stats("tiny")["row_count"] == 30
        there.rename_collection("tiny", "tiny_being_replaced")
    finally:
        there.close()
    with pytest.raises(OutputExistsError):
        write_milvus(tiny_index, uri, "tiny")
    assert write_milvus(tiny_index, uri, "tiny", overwrite=True) == 30


def test_what_milvus_cannot_take(tiny_index: Path, tmp_path: Path, run: Commands) -> None:
    """Whether it is installed or not: names and ids are looked at first."""
    (tmp_path / "v").mkdir()
    vector = {"id": "x" * 600, "vector": {"cat": 1}}
    (tmp_path / "v" / "a.jsonl").write_text(json.dumps(vector))
    tokenizer = tiny_index.with_name("tiny.tokenizer.json")
    build_foreign_index(tmp_path / "v", tmp_path / "x", tokenizer)
    flags = ("--to", "milvus", "--uri", tmp_path / "x.db")
    named = run("export", "--index", tiny_index, *flags, "--collection", "2tiny")
    assert named.code == 2 and "choose another --collection" in named.err
    long = run("export", "--index", tmp_path / "x", *flags)
    assert long.code == 1 and "is longer than 512 bytes" in long.err
    assert not (tmp_path / "x.db").exists()


# An index that was built without a tokenizer


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "a.jsonl").write_text('{"id": "a", "vector": {"cat": 3, "zebra": 2}}')
    build_foreign_index(tmp_path / "v", tmp_path / "bare")
    return tmp_path / "bare"


def test_a_tokenizer_for_an_index_without_one(
    tiny_index: Path, bare: Path, tmp_path: Path, run: Commands
) -> None:
    """Whether Milvus is installed or not: what is missing is told first."""
    tokenizer = tiny_index.with_name("tiny.tokenizer.json")
    flags = ("--index", bare, "--to", "milvus", "--uri", tmp_path / "x.db")
    asked = run("export", *flags)
    assert asked.code == 1 and "pass --tokenizer" in asked.err
    given = run("export", *flags, "--tokenizer", tokenizer)
    assert given.code == 1 and "pass --tokenizer" not in given.err
    refused = run("export", "--index", bare, "--to", "ciff", "--tokenizer", tokenizer)
    assert refused.code == 2 and "--tokenizer goes with" in refused.err


def test_terms_that_the_tokenizer_does_not_know(tiny_index: Path, bare: Path) -> None:
    with Postings(bare) as postings:
        known = known_vectors(postings, WordPieces.load(minilm_folder()))
        assert list(known) == [("a", {"cat": 3, "zebra": 2})]
        other = WordPieces.load(tiny_index.with_name("tiny.tokenizer.json"))
        with pytest.raises(ArtifactError, match="'zebra' of the document 'a' is no WordPiece"):
            list(known_vectors(postings, other))


# What is missing


@pytest.mark.parametrize(
    ("engine", "library", "extra"),
    [("pisa", "pyterrier_pisa", "pisa"), ("milvus", "pymilvus", "milvus")],
)
def test_an_engine_that_is_not_installed(
    tiny_index: Path,
    tmp_path: Path,
    run: Commands,
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
    library: str,
    extra: str,
) -> None:
    from spade_pyserini.export import milvus, pisa

    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == library:
            raise ModuleNotFoundError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(NotFoundError, match=rf"pip install 'spade_pyserini\[{extra}\]'"):
        if engine == "pisa":
            pisa.write_pisa(tiny_index, tmp_path / "x")
        else:
            milvus.write_milvus(tiny_index, "x.db", "x")


def test_calls_that_make_no_sense(
    tiny_index: Path, tiny_corpus: Path, tmp_path: Path, run: Commands
) -> None:
    assert run("export", "--index", tiny_index, "--to", "milvus").code == 2
    assert run("export", "--index", tiny_index, "--to", "ciff", "--uri", "x").code == 2
    assert run("export", "--to", "ciff").code == 2
    bm25 = tmp_path / "bm25"
    assert run("index", "--bm25", "--corpus", tiny_corpus, "--output", bm25).code == 0
    for engine in ("ciff", "opensearch"):
        told = run("export", "--index", bm25, "--to", engine, "--output", tmp_path / "x")
        assert told.code == 1 and "is a bm25 index, it has no impacts" in told.err
    assert run("export", "--index", "nowhere", "--to", "ciff").code == 1
    assert not Path("nowhere").exists()


# Pyserini


def test_a_query_encoder_for_pyserini(tiny_index: Path) -> None:
    from spade_pyserini.search.query_encoder import BooleanQueryEncoder

    tokenizer = tiny_index.with_name(f"{tiny_index.name}.tokenizer.json")
    encoder = BooleanQueryEncoder(tokenizer)
    assert encoder.encode("the cat the") == {"the": 1, "cat": 1}
    from pyserini.search.lucene import LuceneImpactSearcher

    theirs = LuceneImpactSearcher(str(tiny_index), encoder, min_idf=-1)
    with ImpactSearcher(tiny_index) as searcher:
        for text in QUERIES[:4]:
            ours = [(hit.docid, hit.score) for hit in searcher.search(text, 10)]
            assert [(hit.docid, round(hit.score)) for hit in theirs.search(text, 10)] == ours
