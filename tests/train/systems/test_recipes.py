"""The recipe of each system other than SpaDE: train, encode, index and search with the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spade_pyserini.formats.vector_manifest import VectorManifest
from spade_pyserini.train import Recipe, load_recipe
from spade_pyserini.train.recipe import RECIPES
from spade_pyserini.train.systems.start import check_recipe
from tests.commands import Commands

SYSTEMS = {
    "deepct": "deepct",
    "deepimpact": "deepimpact",
    "distilsplade-max": "splade",
    "sparterm": "sparterm",
    "splade-max": "splade",
    "tilde": "tilde",
    "tildev2": "tildev2",
    "unicoil": "unicoil",
}
NEURAL = ("distilsplade-max", "sparterm", "splade-max", "unicoil")


def tiny(recipe: Recipe) -> list[str]:
    """Return options of ``spade train`` that set the data and the sizes of the tiny recipe.

    All other settings are those of the system's own recipe.
    """
    values = recipe.flat()
    names = ("backbone", "max_length", "adapter_rank")
    kept = {key: values[key] for key in values if key.startswith(("data.", "validation."))}
    kept |= {f"model.{name}": values[f"model.{name}"] for name in names}
    kept |= {"steps": 2, "batch_size": 4, "micro_batch": 4, "validate_every": 1}
    settings = {key: value for key, value in kept.items() if value not in (None, (), "")}
    return [word for key in settings for word in ("--set", f"{key}={json.dumps(settings[key])}")]


def test_every_system_has_a_recipe() -> None:
    recipes = {path.stem: load_recipe(path.stem) for path in RECIPES.glob("*.toml")}
    assert {x: y.model.system for x, y in recipes.items() if y.model.system} == SYSTEMS
    for name in SYSTEMS:
        assert recipes[name].model.backbone == "minilm"
        assert recipes[name].optimization.steps == recipes["mini"].optimization.steps
        check_recipe(recipes[name].change(corpus="any"))


@pytest.mark.java
@pytest.mark.parametrize("name", SYSTEMS)
def test_train_encode_index_search(
    recipe: Recipe, tiny_corpus: Path, tmp_path: Path, run: Commands, name: str
) -> None:
    """Train a system, then encode, index and search with it; a second training does nothing."""
    output, vectors, index = tmp_path / "run", tmp_path / "v", tmp_path / "i"
    extra = []
    if name == "distilsplade-max":  # a run file is the teacher, instead of MiniLM
        extra = ["--set", f"teacher={recipe.data.negatives}", "--set", "dense_teacher="]
    options = [*tiny(recipe), *extra, "--output", output]
    done = run("train", "--recipe", name, *options)
    assert done.code == 0, done.err
    best = output / "best"
    assert done.out.strip().endswith(str(best))
    done = run("encode", "--corpus", tiny_corpus, "--model", best, "--output", vectors)
    assert done.code == 0, done.err
    assert VectorManifest.load(vectors).settings.system == SYSTEMS[name]
    assert run("index", "--input", vectors, "--output", index).code == 0
    query = ("--query-encoder", best) if name in NEURAL else ()
    topics = ("--topics", recipe.data.queries, "--output", tmp_path / "run.txt")
    done = run("search", "--index", index, *topics, *query)
    assert done.code == 0, done.err
    assert len((tmp_path / "run.txt").read_text().splitlines()) > 6
    log = (output / "log.jsonl").read_bytes()
    # The run is finished, so this does nothing.
    assert run("train", "--recipe", name, *options).code == 0
    assert (output / "log.jsonl").read_bytes() == log
