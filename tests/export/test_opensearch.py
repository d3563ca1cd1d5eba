"""Export to OpenSearch and Elasticsearch: files whose queries compute the inner product."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from spade_pyserini import ImpactSearcher
from spade_pyserini.errors import OutputExistsError, UsageError
from spade_pyserini.export import opensearch
from spade_pyserini.export.opensearch import BulkOptions, feature, query, write_bulk
from spade_pyserini.formats.private_names import private_sibling
from spade_pyserini.index import build_foreign_index, delete_documents
from spade_pyserini.lucene import jvm
from spade_pyserini.models.minilm import minilm_folder
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.records import Document, Hit, ImpactVector
from tests.commands import Commands, copy_artifact
from tests.export.conftest import QUERIES, same_hits

pytestmark = pytest.mark.java


@pytest.mark.parametrize("field", ["rank_features", "sparse_vector"])
def test_a_bulk_file_and_its_query(
    tiny_index: Path, wanted: dict[str, dict[str, int]], tmp_path: Path, field: str, run: Commands
) -> None:
    flags = ("--to", "opensearch", "--output", tmp_path / "tiny", "--field", field)
    shown = run("export", "--index", tiny_index, *flags)
    _, mapping, example, bulk = (Path(line) for line in shown.out.split())
    assert json.loads(mapping.read_text()) == {
        "mappings": {"properties": {"impacts": {"type": field}}}
    }
    lines = [json.loads(line) for line in bulk.read_text().splitlines()]
    pairs = zip(lines[::2], lines[1::2], strict=True)
    documents = {action["index"]["_id"]: document["impacts"] for action, document in pairs}
    assert documents == {docid: _features(impacts) for docid, impacts in wanted.items()}

    with ImpactSearcher(tiny_index) as searcher:
        body = query(searcher.wordpieces, "the cat the", 5, field)
        hits = searcher.search("the cat the", 30)
        nothing = query(searcher.wordpieces, " ", 5, field)
    assert nothing["query"] == {"match_none": {}}  # an empty query would match all documents
    first, impacts = next(iter(documents.items()))
    strongest = sum(sorted(impacts.values())[-2:])
    assert score_of(json.loads(example.read_text())["query"], documents[first]) == strongest
    assert body["size"] == 5
    scores = {docid: score_of(body["query"], impacts) for docid, impacts in documents.items()}
    assert {hit.docid: hit.score for hit in hits} == {d: s for d, s in scores.items() if s}
    with pytest.raises(OutputExistsError):
        write_bulk(tiny_index, tmp_path / "tiny", BulkOptions(field))


def _features(impacts: dict[str, int]) -> dict[str, int]:
    return {feature(term): impact for term, impact in impacts.items()}


def score_of(query: dict[str, Any], impacts: dict[str, int]) -> float:
    """Compute the score of a query as the engines document it."""
    if "match_none" in query:
        return 0
    if "sparse_vector" in query:
        vector = query["sparse_vector"]["query_vector"]
        return float(sum(weight * impacts.get(term, 0) for term, weight in vector.items()))
    features = [clause["rank_feature"] for clause in query["bool"]["should"]]
    names = [feature["field"] for feature in features]
    assert all(feature["linear"] == {} for feature in features)
    return sum(impacts.get(name.removeprefix("impacts."), 0) for name in names)


def test_feature_names_contain_no_full_stop(tmp_path: Path) -> None:
    """For BERT's vocabulary, feature names have no full stop and are distinct."""
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
    monkeypatch.setattr(opensearch, "BULK_SIZE", 10)
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
    monkeypatch.setattr(opensearch, "BULK_SIZE", 10)
    write_bulk(tiny_index, tmp_path / "out")
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    real = opensearch._bulk_lines

    def full(vectors: list[ImpactVector], documents: Mapping[str, Document]) -> Iterator[str]:
        if vectors[0].docid == "d20":
            raise OSError("no space")
        return real(vectors, documents)

    monkeypatch.setattr(opensearch, "_bulk_lines", full)
    with pytest.raises(OSError, match="no space"):
        write_bulk(tiny_index, tmp_path / "out", BulkOptions("sparse_vector"), overwrite=True)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


def test_the_mapping_comes_last(
    tiny_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the export is killed while it renames the files, there is no mapping."""
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


@pytest.mark.parametrize("field", opensearch.FIELD_TYPES)
def test_impacts_that_both_fields_would_round(tmp_path: Path, field: str) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "a.jsonl").write_text('{"id": "a", "vector": {"cat": 600}}')
    build_foreign_index(tmp_path / "v", tmp_path / "x")
    with pytest.raises(UsageError, match=f"600, but {field} is exact only to 511; quant"):
        write_bulk(tmp_path / "x", tmp_path / "out", BulkOptions(field))


def test_the_field_behind_rank_features(
    tiny_index: Path, wanted: dict[str, dict[str, int]], tmp_path: Path
) -> None:
    """Both engines store `rank_features` in Lucene's FeatureField, with linear scores."""
    write_bulk(tiny_index, tmp_path / "tiny")
    lines = (tmp_path / "tiny.bulk-0000.ndjson").read_text().splitlines()
    documents = [json.loads(line)["impacts"] for line in lines[1::2]]
    docids = [json.loads(line)["index"]["_id"] for line in lines[::2]]
    search = feature_search([*documents, {"exact": 511, "rounded": 513}])
    assert search(["exact"], 1) == [(len(documents), 511)]
    assert search(["rounded"], 1) != [(len(documents), 513)]
    with ImpactSearcher(tiny_index) as searcher:
        for text in QUERIES:
            body = query(searcher.wordpieces, text)["query"]
            clauses = body.get("bool", {}).get("should", [])
            names = [clause["rank_feature"]["field"].removeprefix("impacts.") for clause in clauses]
            hits = [Hit(docids[number], round(score)) for number, score in search(names, 30)]
            same_hits(searcher.search(text, 30), hits, 30)


def feature_search(
    documents: list[dict[str, int]],
) -> Callable[[list[str], int], list[tuple[int, float]]]:
    """Index feature fields in memory; return a function that finds document numbers and scores."""

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


def test_an_export_that_was_killed_is_completed(
    tiny_index: Path, tmp_path: Path, run: Commands
) -> None:
    """A killed export leaves files without a mapping, and its temporary folder next to them."""
    base = tmp_path / "x"
    flags = ("--index", tiny_index, "--to", "opensearch", "--output", base)
    assert run("export", *flags).code == 0
    names = sorted(path.name for path in tmp_path.iterdir())
    refused = run("export", *flags)
    assert refused.code == 1 and "exists already" in refused.err
    for name in ("x.mapping.json", "x.README.md"):  # the two files that are written last
        (tmp_path / name).unlink()
    assert run("export", *flags).code == 1  # refused: another program may have written the files
    private_sibling(base).mkdir()
    assert run("export", *flags).code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == names
