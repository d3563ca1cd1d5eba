"""Commands with models of other systems, such as SPLADE, uniCOIL and DeepImpact."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from spade_pyserini.formats.index_manifest import IndexManifest
from spade_pyserini.formats.vector_manifest import VectorManifest
from spade_pyserini.formats.vectors import read_vectors
from spade_pyserini.models.systems.loading import load_encoder
from spade_pyserini.search import ImpactSearcher
from spade_pyserini.search.query_models import neural_queries
from tests.commands import Commands, child
from tests.conftest import file_bytes, shared_data
from tests.models.systems import checkpoints

pytestmark = pytest.mark.java

TOPICS = {"1": "the old cat sleeps", "2": "delete the folder, delete it", "3": "a big red dog"}
NEURAL = ("splade", "splade-max", "unicoil")
NAMES = (*NEURAL, "splade-doc", "opensearch", "tildev2", "deepimpact", "deepct")


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    path = tmp_path / "topics.tsv"
    path.write_text("".join(f"{qid}\t{text}\n" for qid, text in TOPICS.items()))
    return path


def scores(run_file: Path) -> dict[tuple[str, str], float]:
    lines = [line.split() for line in run_file.read_text().splitlines()]
    return {(qid, docid): round(float(score)) for qid, _, docid, _, score, _ in lines}


@pytest.mark.parametrize("name", NAMES)
def test_encode_index_search(
    name: str,
    systems: dict[str, Path],
    tiny_corpus: Path,
    topics: Path,
    tmp_path: Path,
    run: Commands,
) -> None:
    vectors, index, output = tmp_path / "v", tmp_path / "i", tmp_path / "run.txt"
    model = systems[name]
    done = run("encode", "--corpus", tiny_corpus, "--model", model, "--output", vectors)
    assert done.code == 0, done.err
    assert run("index", "--input", vectors, "--output", index).code == 0
    extra = ("--query-encoder", model) if name in NEURAL else ()
    done = run("search", "--index", index, "--topics", topics, "--output", output, *extra)
    assert done.code == 0, done.err
    manifest = VectorManifest.load(vectors)
    assert manifest.settings.system == load_encoder(model).system
    assert IndexManifest.load(index).query == manifest.query
    queries = load_encoder(model).queries.encode(list(TOPICS.values()))
    expected = {}
    for docid, impacts in read_vectors(vectors):
        for qid, weights in zip(TOPICS, queries, strict=True):
            score = sum(weight * impacts.get(term, 0) for term, weight in weights.items())
            if score:
                expected[qid, docid] = score
    assert scores(output) == expected != {}
    assert run("index", "--input", vectors, "--output", index, "--verify").code == 0


def test_processes_and_a_resumed_run_give_the_same_bytes(
    systems: dict[str, Path], corpus_of_95: Path, tmp_path: Path, run: Commands
) -> None:
    call = ("encode", "--corpus", corpus_of_95, "--model", systems["splade"], "--shard-size", 20)
    first, second = tmp_path / "a", tmp_path / "b"
    assert run(*call, "--output", first).code == 0
    before = file_bytes(first)
    (first / "docs0002.jsonl.gz").unlink()
    assert run(*call, "--output", first).code == 0
    assert run(*call, "--output", second, "--processes", 2).code == 0
    assert file_bytes(first) == file_bytes(second) == before
    other = run(*call, "--output", first, "--max-length", 8)
    assert other.code == 1 and "max_length 64, now 8" in other.err


def test_a_table_of_query_weights_is_saved_with_the_index(
    systems: dict[str, Path], tiny_corpus: Path, topics: Path, tmp_path: Path, run: Commands
) -> None:
    vectors, index = tmp_path / "v", tmp_path / "i"
    call = ("encode", "--corpus", tiny_corpus, "--model", systems["opensearch"])
    assert run(*call, "--output", vectors, "--keep-query-weights").code == 0
    assert run("index", "--input", vectors, "--output", index).code == 0
    (table,) = tmp_path.glob("i.queries-*.json")
    side = IndexManifest.load(index).query
    assert (side.kind, side.model) == ("table", "opensearch")
    with ImpactSearcher(index) as searcher:
        weights = searcher.query_weights("the cat")
        assert weights.items() <= json.loads(table.read_text())["weights"].items()
        best = searcher.search("the cat")[0]
        assert sum(searcher.matched_terms("the cat", best.docid).values()) == best.score
    plain = tmp_path / "topics.wp.tsv"
    assert run("topics", "--topics", topics, "--index", index, "--output", plain).code == 0
    assert plain.read_text().splitlines()[0].split().count("cat") == weights["cat"]
    table.rename(tmp_path / "elsewhere.json")
    done = run("search", "--index", index, "--query", "the cat")
    assert done.code == 1 and "the weights of query terms are missing" in done.err
    # If the query weights are multiplied into the impacts, the index needs no table of weights, and
    # the old table is removed.
    (tmp_path / "elsewhere.json").rename(table)
    assert run(*call, "--output", vectors, "--overwrite").code == 0
    assert run("index", "--input", vectors, "--output", index, "--overwrite").code == 0
    assert not list(tmp_path.glob("i.queries-*.json"))
    assert run("search", "--index", index, "--query", "the cat").code == 0


@pytest.fixture
def neural_index(
    systems: dict[str, Path], tiny_corpus: Path, tmp_path: Path, run: Commands
) -> Path:
    vectors, index = tmp_path / "v", tmp_path / "i"
    call = ("encode", "--corpus", tiny_corpus, "--model", systems["splade"], "--components")
    assert run(*call, "--output", vectors).code == 0
    assert run("index", "--input", vectors, "--output", index).code == 0
    return index


def test_the_wrong_query_encoder_is_refused(
    neural_index: Path,
    tiny_index: Path,
    systems: dict[str, Path],
    tmp_path: Path,
    run: Commands,
    tiny_backbone: Path,
) -> None:
    def refused(index: Path, *extra: object) -> str:
        done = run("search", "--index", index, "--query", "the cat", *extra)
        assert done.code == 2, done.out
        return done.err

    assert "needs queries that the neural model 'splade' encodes" in refused(neural_index)
    assert "give --query-encoder splade" in refused(neural_index)
    message = refused(neural_index, "--query-encoder", systems["unicoil"])
    assert "'unicoil' has other weights than the query encoder" in message
    other = checkpoints.masked_lm(tiny_backbone, tmp_path / "splade", seed=7)
    assert "has other weights than" in refused(neural_index, "--query-encoder", other)
    message = refused(neural_index, "--query-encoder", systems["tildev2"])
    assert "needs neural queries of splade, not boolean queries" in message
    message = refused(tiny_index, "--query-encoder", systems["splade"])
    assert "needs boolean queries, not neural queries" in message
    done = run("search", "--index", neural_index, "--query", "x", "--query-encoder", "no-where")
    assert done.code == 1 and "there is no model 'no-where'" in done.err


def test_topics_for_plain_pyserini_and_topics_that_are_encoded_already(
    neural_index: Path, systems: dict[str, Path], topics: Path, tmp_path: Path, run: Commands
) -> None:
    encoded, ours, theirs = tmp_path / "t.tsv", tmp_path / "ours.txt", tmp_path / "theirs.txt"
    model = ("--query-encoder", systems["splade"])
    call = ("--index", neural_index, "--topics", topics)
    assert run("topics", *call, *model, "--output", encoded).code == 0
    assert run("search", *call, *model, "--output", ours).code == 0
    again = ("--index", neural_index, "--topics", encoded, "--pre-encoded")
    assert run("search", *again, "--output", tmp_path / "again.txt").code == 0
    assert (tmp_path / "again.txt").read_bytes() == ours.read_bytes()
    done = child(
        *("spade_pyserini.pyserini", "search.lucene", "--impact", "--min-idf", "-1"),
        *("--index", neural_index, "--topics", encoded, "--output", theirs, "--hits", 1000),
    )
    assert done.returncode == 0, done.stderr
    assert scores(theirs) == scores(ours)


def test_explain_and_sweep(
    neural_index: Path,
    systems: dict[str, Path],
    topics: Path,
    tmp_path: Path,
    run: Commands,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("spade_pyserini.analysis.sweep.run.WARM_UP", 1)
    monkeypatch.setattr("spade_pyserini.analysis.sweep.measure.TIMED_QUERIES", 1)
    query, text = "the old cat", "the big red dog sleeps"
    call = ("explain", "--model", systems["splade"], "--text", text)
    assert "added: " in run(*call).out
    done = run(*call, "--query", query)
    encoder = load_encoder(systems["splade"])
    (weights,) = encoder.queries.encode([query])
    impacts = {term.term: term.impact for term in encoder.explain(text)}
    score = sum(weight * impacts.get(term, 0) for term, weight in weights.items())
    assert done.out.splitlines()[-1 if "no match" not in done.out else -2].split()[-1] == str(score)
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("1 0 d1 1\n2 0 d2 1\n")
    sweep = ("sweep", "--components", neural_index.with_name("v"), "--topics", topics)
    sweep = (*sweep, "--qrels", qrels, "--alpha", 0.5, "--prune-ratio", 0, 0.5)  # type: ignore[assignment]
    done = run(*sweep, "--output", tmp_path / "s", "--query-encoder", systems["splade"])
    assert done.code == 0, done.err
    assert len((tmp_path / "s" / "sweep.csv").read_text().splitlines()) == 3


def test_published_query_vectors_are_taken_as_they_are(tmp_path: Path, run: Commands) -> None:
    """Search foreign vectors with SPLADE-v3, SPLADE++ and uniCOIL vectors of MS MARCO queries."""
    source = shared_data("msmarco-splade-queries") / "queries.jsonl.gz"
    folder = tmp_path / "vectors"
    folder.mkdir()
    documents = {
        "a": {"receptor": 40, "hormone": 7, "definition": 3},
        "b": {"medical": 90, "definition": 50, "anger": 2},
    }
    lines = [json.dumps({"id": docid, "vector": vector}) for docid, vector in documents.items()]
    (folder / "docs.jsonl").write_text("\n".join(lines) + "\n")
    index = tmp_path / "i"
    call = ("index", "--foreign", "--input", folder, "--tokenizer", "spade-mini")
    assert run(*call, "--output", index).code == 0
    from spade_pyserini.formats.weighted_topics import read_weighted_topics

    counts = {}
    for field in ("splade-v3", "splade-pp-ed", "unicoil"):
        output = tmp_path / f"{field}.txt"
        done = run(
            *("search", "--index", index, "--topics", source, "--pre-encoded", field),
            *("--output", output, "--threads", 2),
        )
        assert done.code == 0, done.err
        topics = read_weighted_topics(source, field)
        counts[field] = len(topics)
        expected = {
            (qid, docid): score
            for qid, weights in topics.items()
            for docid, vector in documents.items()
            if (score := sum(x * vector.get(term, 0) for term, x in weights.items()))
        }
        assert scores(output) == expected
    assert counts == {"splade-v3": 11980, "splade-pp-ed": 11261, "unicoil": 6980}


def test_torch_is_loaded_for_neural_queries_only(neural_index: Path, topics: Path) -> None:
    code = (
        "import sys; from spade_pyserini.cli.main import main; "
        f"code = main(['search', '--index', '{neural_index}', '--query', 'cat']); "
        "print(code, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["2", "False"], done.stderr


def test_the_library(neural_index: Path, systems: dict[str, Path]) -> None:
    queries = neural_queries(str(systems["splade"]))
    with ImpactSearcher(neural_index, queries=queries) as searcher:
        hits = searcher.search("the cat", 3)
        assert len(hits) == 3 and isinstance(hits[0].score, int)
    assert torch.is_grad_enabled()
