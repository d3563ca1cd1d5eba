"""Table 1 on tiny data: systems are trained for a few steps, indexed, searched and compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from spade_pyserini import SpadeModel
from spade_pyserini.analysis.tables.recipes import Budget, row_recipe
from spade_pyserini.analysis.tables.spec import (
    BEIR_FIGURES,
    MARCO_FIGURES,
    ROWS,
    TABLES,
    Collection,
    Row,
    Table,
)
from spade_pyserini.analysis.tables.work import Bench
from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.errors import UsageError
from spade_pyserini.evaluate import evaluate_run, parse_measures
from spade_pyserini.formats.runs import read_run
from spade_pyserini.train import Recipe, load_recipe
from tests.commands import Commands

TINY = ("BM25", "uniCOIL", "DeepImpact", "TILDE", "TILDEv2", "SpaDE")


def write_recipe(recipe: Recipe, path: Path) -> str:
    """Write a recipe as TOML; return the path of the file."""
    values = {name: x for name, x in recipe.flat().items() if x not in (None, (), "")}
    lines: dict[str, list[str]] = {}
    for name, value in values.items():
        section, _, key = name.partition(".")
        lines.setdefault(section, []).append(f"{key} = {json.dumps(value)}")
    text = [f"[{section}]\n" + "\n".join(settings) for section, settings in lines.items()]
    path.write_text("\n\n".join(text) + "\n")
    return str(path)


@pytest.fixture
def table(
    recipe: Recipe, tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Table:
    """A table of six rows on the tiny corpus, which replaces ``table1`` during the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("spade_pyserini.analysis.tables.latency.TIMED_QUERIES", 1)
    monkeypatch.setattr("spade_pyserini.analysis.tables.latency.WARM_UP", 1)
    (tmp_path / "v2.toml").write_text('base = "tildev2"\n[model]\nmax_length = 32\n')
    rows = [row for row in ROWS if row.name in TINY]
    rows = [replace(row, recipe="v2.toml") if row.name == "TILDEv2" else row for row in rows]
    path = write_recipe(recipe.change(warmup_steps=3, steps=6), tmp_path / "tiny.toml")
    topics = recipe.data.queries
    own = Collection("tiny", str(tiny_corpus), topics, qrels=recipe.data.qrels or "")
    collections = (own, replace(own, name="pool", pool=2))
    small = replace(
        TABLES["table1"], recipe=path, start="", rows=tuple(rows), collections=collections
    )
    monkeypatch.setitem(TABLES, "table1", small)
    return small


@pytest.mark.java
def test_the_command(table: Table, run: Commands, tmp_path: Path) -> None:
    command = ("reproduce", "--condition", "table1", "--steps", 4)
    done = run(*command)
    assert done.code == 0, done.err
    folder = tmp_path / "runs" / "systems.4-0"
    text = done.out
    for name in TINY:
        # Each system is in four tables: one for each of two collections, the costs, the paper.
        assert text.count(f"\n{name} ") >= 4
    assert "uniCOIL: training\nuniCOIL: tiny\nuniCOIL: pool\n" in text
    svg = (folder / "tradeoff.svg").read_text()
    assert "<svg" in svg and text.endswith("runs/systems.4-0/tradeoff.svg\n")
    # The printed scores are those of the saved runs.
    run_file, qrels = folder / "uniCOIL" / "run.tiny.txt", table.collections[0].judgements
    (measure,) = parse_measures(["nDCG@10"])
    value = evaluate_run(read_qrels(qrels), read_run(run_file), [measure])[measure]
    rows = [line.split() for line in text.splitlines() if line.startswith("uniCOIL ")]
    header = next(line.split() for line in text.splitlines() if line.startswith("system "))
    assert rows[0][header.index("nDCG@10")].rstrip("◇") == f"{value:.4f}"
    assert rows[-1][1:] == ["0.352", "0.958", "0.702", "0.461", "0.673", "0.439", "64", "1.4"]
    costs = json.loads((folder / "uniCOIL" / "costs.tiny.json").read_text())
    assert costs["documents"] == 30 and costs["terms"] > 1 and costs["lucene"] > 0
    pool = json.loads((folder / "uniCOIL" / "costs.pool.json").read_text())
    assert 0 < pool["documents"] < 30
    # TILDEv2 read the terms that TILDE predicted.
    (file,) = folder.glob("TILDEv2/expansions.tiny.jsonl")
    assert len(json.loads(file.read_text().splitlines()[0])["predicted_queries"]) > 1
    trained = json.loads((folder / "TILDEv2" / "train" / "recipe.json").read_text())
    assert trained["data"]["collections"][0]["expansions"] == str(file.relative_to(tmp_path))
    # Only the row whose results on a collection are missing is measured again.
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("model.safetensors")}
    (folder / "DeepImpact" / "costs.tiny.json").unlink()
    again = run(*command)
    assert again.code == 0, again.err
    assert again.out.startswith("DeepImpact: training\nDeepImpact: tiny\nTable 1")
    assert before == {path: path.stat().st_mtime_ns for path in before}
    assert again.out.partition("Costs on")[0].endswith(
        text.partition("Table 1")[2].partition("Costs on")[0]
    )


@pytest.mark.java
def test_all_systems_start_from_the_same_model(
    table: Table, recipe: Recipe, tiny_corpus: Path, tmp_path: Path
) -> None:
    """The head of the start model is fitted to queries of pydoc; each system trains two steps."""
    start = load_recipe("table1-start").change(data=(), steps=5, batch_size=40)
    start = start.change(corpus=str(tiny_corpus), queries="pydoc-dev", qrels="pydoc-dev")
    data = {name: getattr(recipe.data, name) for name in ("corpus", "queries", "qrels")}
    tiny = load_recipe("mini").change(**data, batch_size=4, max_length=32)
    rows = tuple(row for row in ROWS if row.name in ("SPLADE-max", "SpaDE"))
    small = replace(
        table,
        recipe=write_recipe(tiny, tmp_path / "minilm.toml"),
        start=write_recipe(start, tmp_path / "start.toml"),
        rows=rows,
        collections=table.collections[:1],
    )
    bench = Bench(small, Budget(steps=2), tmp_path / "bench")
    assert next(iter(bench.steps())) == "the model that all systems start from"
    assert len(list(bench.steps())) == 5
    model = SpadeModel.from_pretrained(tmp_path / "bench" / "start.boolean")
    assert (model.query_weights == 1).all() and model.expansion.head.own.any()
    for row in rows:
        trained = json.loads((bench.model(row) / "recipe.json").read_text())["model"]
        assert trained["init"] == str(tmp_path / "bench" / "start.boolean")
        assert trained["adapter_rank"] == 16
        assert bench.costs(row, small.collections[0]).documents == 30
    assert list(bench.steps()) == []


def test_all_rows_have_the_same_budget_and_data() -> None:
    table, budget = TABLES["table1"], Budget(steps=90, seed=7)
    for row in table.rows[1:]:
        recipe = row_recipe(table, row, budget)
        own = load_recipe(row.recipe)
        assert (recipe.optimization.steps, recipe.optimization.seed) == (90, 7)
        assert recipe.training_collections == load_recipe("table1").training_collections
        assert recipe.model.system == own.model.system
        assert recipe.model.backbone == "minilm" and recipe.optimization.batch_size == 24
        assert recipe.losses == own.losses and recipe.cotraining == own.cotraining
        assert recipe.validation.validate_every == 30
    spade = row_recipe(table, table.rows[-1], budget)
    assert (spade.optimization.warmup_steps, spade.pruning.period) == (45, 8)
    with pytest.raises(UsageError, match="steps must be 2 or more"):
        Budget(steps=1)


def test_all_systems_can_start_from_a_model_of_spade(
    tiny_model: SpadeModel, tiny_model_folder: Path
) -> None:
    table = TABLES["table1"]
    budget = Budget(start=str(tiny_model_folder))
    for row in (Row("SpaDE", "mini"), Row("SPLADE-max", "splade-max")):
        settings = row_recipe(table, row, budget).model
        assert settings.init == str(tiny_model_folder) and settings.adapter_rank == 0


def test_the_figures_of_the_paper() -> None:
    names = {row.name for row in ROWS}
    assert names - MARCO_FIGURES.keys() == {"TILDE"} and MARCO_FIGURES.keys() <= names
    assert [row.name for row in TABLES["table2"].rows] == list(BEIR_FIGURES)
    assert MARCO_FIGURES["SpaDE"][:2] == (0.352, 0.968)


def test_wrong_calls(
    table: Table, run: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("reproduce", "--condition", "bm25-pydoc", "--steps", 4).code == 2
    done = run("reproduce", "--condition", "table1", "--check-paper")
    assert done.code == 2 and "--check-paper has no effect on table1" in done.err
    done = run("reproduce", "--condition", "table1", "--model", "no-where")
    assert done.code == 1 and "there is no model 'no-where'" in done.err
    nowhere = (Collection("nowhere", "no-corpus", "no-topics"),)
    monkeypatch.setitem(TABLES, "table2", replace(table, collections=nowhere))
    done = run("reproduce", "--condition", "table2")
    assert done.code == 1 and "no-corpus" in done.err
    assert not (tmp_path / "runs").exists()
    done = run("reproduce", "--condition", "table1", "--dry-run")
    assert done.code == 0 and "uniCOIL  recipe unicoil" in done.out
    assert "the systems and recipes of a table" in " ".join(run("reproduce", "--help").out.split())
    assert "table1: Table 1 of the paper" in run("reproduce", "--list").out
