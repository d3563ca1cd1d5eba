from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from spade_pyserini import (
    ImpactSearcher,
    SpadeModel,
    build_impact_index,
    encode_corpus,
    evaluate_run,
    open_corpus,
    read_qrels,
    read_run,
    read_topics,
    read_vectors,
    search_topics,
)
from spade_pyserini.analysis.sweep.components import Components
from spade_pyserini.encode import EncodeOptions
from spade_pyserini.evaluate import parse_measures
from spade_pyserini.formats.components import read_components
from spade_pyserini.formats.vectors import verify
from spade_pyserini.train import Recipe
from tests.commands import Commands
from tests.conftest import write_corpus


@pytest.fixture(scope="module")
def encoded(
    tiny_corpus: Path, tiny_model: SpadeModel, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Vectors like `tiny_vectors`, with components. All tests share them: do not change them."""
    folder = tmp_path_factory.mktemp("encode") / "tiny"
    corpus = open_corpus(str(tiny_corpus))
    encode_corpus(corpus, tiny_model, folder, EncodeOptions(shard_size=12, components=True))
    return folder


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "sweep.csv").open() as stream:
        return list(csv.DictReader(stream))


def vectors(folder: Path) -> dict[str, dict[str, int]]:
    return dict(read_vectors(folder))


@pytest.fixture
def judged(recipe: Recipe) -> tuple[object, ...]:
    return (
        "--topics",
        recipe.data.queries,
        "--qrels",
        recipe.data.qrels,
        "--measure",
        "MRR@10",
        "nDCG@10",
    )


@pytest.mark.java
def test_the_models_own_setting_is_what_encode_writes(
    encoded: Path, tiny_vectors: Path, tiny_index: Path, tmp_path: Path
) -> None:
    components = Components(encoded, [0.5])
    manifest = components.write_vectors(tmp_path / "vectors", 0.5, components.frequent(1.0), 40.0)
    assert manifest == verify(tiny_vectors) == verify(tmp_path / "vectors")
    build_impact_index(tmp_path / "vectors", tmp_path / "index")
    with ImpactSearcher(tmp_path / "index") as ours, ImpactSearcher(tiny_index) as theirs:
        hits = ours.search("the old cat sleeps", 30)
        assert hits == theirs.search("the old cat sleeps", 30)
        assert len(hits) > 5


def test_the_largest_weight_gets_the_largest_impact(encoded: Path, tmp_path: Path) -> None:
    components = Components(encoded, [0.0, 0.3])
    for alpha in (0.0, 0.3):
        for gamma in (1.0, 0.2):
            removed = components.frequent(gamma)
            folder = tmp_path / f"{alpha} {gamma}"
            scale = components.scale(alpha, removed)
            manifest = components.write_vectors(folder, alpha, removed, scale)
            assert max(max(v.values(), default=0) for v in vectors(folder).values()) == 255
            assert sum(shard.clipped for shard in manifest.shards) == 0


def test_alpha_0_leaves_own_terms_only(
    encoded: Path, tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    components = Components(encoded, [0.0])
    components.write_vectors(tmp_path / "v", 0.0, set(), components.scale(0.0, set()))
    weighted = vectors(tmp_path / "v")
    for document in open_corpus(str(tiny_corpus)):
        own = tiny_model.wordpieces.query_terms(document.contents)
        assert set(weighted[document.docid]) == set(own)
    assert any(set(full) - set(weighted[docid]) for docid, full in vectors(encoded).items())


def test_gamma_removes_just_the_frequent_terms(encoded: Path, tmp_path: Path) -> None:
    components = Components(encoded, [0.5])
    counts = Counter(term for vector in read_components(encoded) for term in vector.expansion)
    _, second, most = sorted(set(counts.values()))[-3:]
    removed = components.frequent((second + 0.5) / 30)
    assert removed == {term for term, count in counts.items() if count == most}
    assert 0 < len(removed) < len(counts)
    components.write_vectors(tmp_path / "v", 0.5, removed, 40.0)
    expected = {
        docid: {term: impact for term, impact in full.items() if term not in removed}
        for docid, full in vectors(encoded).items()
    }
    assert vectors(tmp_path / "v") == expected != vectors(encoded)
    assert (
        most == 30 and components.frequent(1.0) == set()
    )  # gamma 1 removes nothing, not even terms that are in all 30 documents


@pytest.mark.slow
@pytest.mark.java
def test_the_command_runs_what_is_missing(
    encoded: Path, tmp_path: Path, recipe: Recipe, judged: tuple[object, ...], run: Commands
) -> None:
    folder = tmp_path / "out"
    arguments = ("--components", encoded, *judged, "--output", folder)
    result = run("sweep", *arguments, "--alpha", 0, 0.5)
    assert result.code == 0, result.err
    measured = rows(folder)
    costs = ["ms per query", "index MB", "terms per document", "documents", "removed terms"]
    assert list(measured[0]) == ["alpha", "gamma", "k", "prune_ratio", "MRR@10", "nDCG@10", *costs]
    assert [(row["alpha"], row["gamma"], row["k"]) for row in measured] == [
        ("0", "1", "3"),
        ("0.5", "1", "3"),
    ]
    assert [line.split()[:3] for line in result.out.splitlines()[2:]] == [
        ["0", "1", "3"],
        ["0.5", "1", "3"],
    ]
    assert all(float(row["ms per query"]) > 0 and float(row["index MB"]) > 0 for row in measured)
    assert float(measured[0]["terms per document"]) < float(measured[1]["terms per document"])
    names = {"sweep.csv", "sweep.manifest.json"}
    figures = {f"{name}.{form}" for name in ("alpha", "tradeoff") for form in ("png", "svg")}
    runs = {f"run.alpha-{alpha}.gamma-1.k-3.txt" for alpha in ("0", "0.5")}
    assert {path.name for path in folder.iterdir()} == names | figures | runs

    # The functions of `spade index`, `search` and `evaluate` give the same measures.
    components = Components(encoded, [0.5])
    components.write_vectors(tmp_path / "v", 0.5, set(), components.scale(0.5, set()))
    build_impact_index(tmp_path / "v", tmp_path / "index")
    with ImpactSearcher(tmp_path / "index") as searcher:
        rankings = list(search_topics(searcher, read_topics(recipe.data.queries)))
    measures = parse_measures(["MRR@10", "nDCG@10"])
    scores = evaluate_run(read_qrels(str(recipe.data.qrels)), rankings, measures)
    for measure, name in zip(measures, ("MRR@10", "nDCG@10"), strict=True):
        assert float(measured[1][name]) == pytest.approx(scores[measure], abs=5e-5)
        assert scores[measure] > 0
    kept = read_run(folder / "run.alpha-0.5.gamma-1.k-3.txt")
    assert evaluate_run(read_qrels(str(recipe.data.qrels)), kept, measures) == scores

    # Settings that are already in sweep.csv are not measured again.
    path = folder / "sweep.csv"
    path.write_text(path.read_text().replace(measured[0]["ms per query"], "12345.5", 1))
    result = run("sweep", *arguments, "--alpha", 0, 0.5, "--gamma", 1, 0.1)
    assert result.code == 0, result.err
    again = rows(folder)
    assert [(row["alpha"], row["gamma"]) for row in again] == [
        ("0", "1"),
        ("0.5", "1"),
        ("0", "0.1"),
        ("0.5", "0.1"),
    ]
    assert again[0]["ms per query"] == "12345.5"
    assert again[1] == measured[1]
    assert int(again[2]["removed terms"]) > 0
    runs |= {f"run.alpha-{alpha}.gamma-0.1.k-3.txt" for alpha in ("0", "0.5")}
    left = {path.name for path in folder.iterdir()} - figures - names - runs
    assert left == {"gamma.png", "gamma.svg"}


@pytest.mark.java
def test_k_encodes_again(
    encoded: Path,
    tiny_corpus: Path,
    tiny_model_folder: Path,
    tmp_path: Path,
    judged: tuple[object, ...],
    recipe: Recipe,
    run: Commands,
) -> None:
    folder = tmp_path / "out"
    arguments = ("--components", encoded, *judged, "--output", folder, "--alpha", 0.5)
    of = ("--corpus", tiny_corpus, "--model", tiny_model_folder)
    result = run("sweep", *arguments, "--k", 1, 3, *of)
    assert result.code == 0, result.err
    measured = rows(folder)
    assert [row["k"] for row in measured] == ["1", "3"]
    assert float(measured[0]["terms per document"]) < float(measured[1]["terms per document"])
    files = {path.stem for path in folder.iterdir() if not path.stem.startswith("run.")}
    assert files == {"sweep", "sweep.manifest", "k", "tradeoff"}
    model = SpadeModel.from_pretrained(tiny_model_folder).with_settings(k=1)
    encode_corpus(
        open_corpus(str(tiny_corpus)),
        model,
        tmp_path / "k1",
        EncodeOptions(shard_size=12, components=True),
    )
    components = Components(tmp_path / "k1", [0.5])
    scale = components.scale(0.5, set())
    manifest = components.write_vectors(tmp_path / "v", 0.5, set(), scale)
    assert float(measured[0]["terms per document"]) == round(manifest.terms_per_document, 2)

    pooled = run("sweep", *arguments, "--k", 2, *of, "--pool", recipe.data.negatives)
    assert pooled.code == 1 and "from other documents" in pooled.err

    assert run("sweep", *arguments, "--k", 1).code == 2
    other = tmp_path / "model"
    model = SpadeModel.from_pretrained(tiny_model_folder)
    model.query_weights.data[30] = 2
    model.save_pretrained(other)
    refused = run("sweep", *arguments, "--k", 2, "--corpus", tiny_corpus, "--model", other)
    assert refused.code == 1 and "another model produced the components" in refused.err
    corpus = write_corpus(tmp_path / "tiny", 29)
    refused = run("sweep", *arguments, "--k", 2, "--corpus", corpus, "--model", tiny_model_folder)
    assert refused.code == 1 and "from other documents" in refused.err
    assert rows(folder) == measured


@pytest.mark.java
def test_another_sweep_in_the_same_folder_is_refused(
    encoded: Path,
    tiny_vectors: Path,
    tmp_path: Path,
    judged: tuple[object, ...],
    recipe: Recipe,
    run: Commands,
) -> None:
    folder = tmp_path / "out"
    arguments = ("--components", encoded, *judged, "--output", folder, "--alpha", 1)
    assert run("sweep", *arguments).code == 0
    before = rows(folder)
    other = tmp_path / "topics.tsv"
    other.write_text("q0\tbird\n")
    for change, message in (
        (("--topics", other), "with different topics"),
        (("--relevance-level", 2), "with different judgements"),
        (("--measure", "MAP"), "with different columns"),
    ):
        refused = run("sweep", *arguments, *change)
        assert refused.code == 1
        assert message in refused.err
        assert rows(folder) == before
    (folder / "sweep.csv").write_text((folder / "sweep.csv").read_text() + "1,x\n")
    damaged = run("sweep", *arguments)
    assert damaged.code == 1 and "not a row of a sweep" in damaged.err
    assert run("sweep", *arguments, "--topics", other, "--overwrite", "--alpha", 0).code == 0
    assert len(rows(folder)) == 1
    assert [path.name for path in folder.glob("run.*")] == ["run.alpha-0.gamma-1.k-3.txt"]

    without = run("sweep", *arguments, "--components", tiny_vectors, "--output", tmp_path / "x")
    assert without.code == 1 and "run the same encode command with --components" in without.err
    strange = tmp_path / "strange.tsv"
    strange.write_text("unjudged\tbird\n")
    refused = run("sweep", *arguments, "--topics", strange)
    assert refused.code == 1 and "no topic in common" in refused.err


@pytest.mark.java
def test_a_setting_that_leaves_nothing_scores_nothing(
    tiny_model_folder: Path, tmp_path: Path, judged: tuple[object, ...], run: Commands
) -> None:
    """The weighting head of this model gives no weight to any term, and alpha is 0."""
    model = SpadeModel.from_pretrained(tiny_model_folder)
    model.weighting.head.get_parameter("3.bias").data.fill_(-100)
    corpus = open_corpus("c", write_corpus(tmp_path / "corpus", 10))
    encode_corpus(corpus, model, tmp_path / "x", EncodeOptions(components=True))
    arguments = ("--components", tmp_path / "x", *judged, "--alpha", 0, "--output", tmp_path / "o")
    result = run("sweep", *arguments)
    assert result.code == 0, result.err
    assert [(row["MRR@10"], row["terms per document"]) for row in rows(tmp_path / "o")] == [
        ("0", "0")
    ]


@pytest.mark.parametrize(
    "change", [("--alpha", 2), ("--gamma", "nan"), ("--k", 0), ("--corpus", "x"), ("--pool", "x")]
)
def test_wrong_calls(
    encoded: Path, tmp_path: Path, judged: tuple[object, ...], run: Commands, change: tuple[object]
) -> None:
    result = run("sweep", "--components", encoded, *judged, "--output", tmp_path / "x", *change)
    assert result.code == 2
    assert "Traceback" not in result.err
    assert not (tmp_path / "x").exists()
