"""Recipes: sections, names, files, and errors for wrong settings."""

from __future__ import annotations

import json
import tomllib
from dataclasses import fields, replace
from pathlib import Path

import pytest

from spade_pyserini.errors import (
    InputError,
    NotFoundError,
    UsageError,
)
from spade_pyserini.train import (
    Recipe,
    load_recipe,
    make_recipe,
    train,
)
from spade_pyserini.train.documents import CorpusSource, corpus_source
from spade_pyserini.train.recipe import FLAT_NAMES, RECIPES, SECTIONS
from spade_pyserini.train.settings import DevCollection, TrainingCollection
from tests.commands import Commands


def test_sections_can_be_left_out(tmp_path: Path) -> None:
    """Recipes of earlier versions have no sections and give the same settings."""
    flat, sections = tmp_path / "flat.toml", tmp_path / "sections.toml"
    flat.write_text(
        'backbone = "minilm"\ntau = 20\nrequests = 0.5\ndistillation = "margin_mse"\n'
        '[[data]]\ncorpus = "a"\n[[dev]]\nqueries = "b"\n'
    )
    sections.write_text(
        '[model]\nbackbone = "minilm"\n[cotraining]\ntau = 20\n'
        '[term_weights]\ntemplate_share = 0.5\n[distillation]\nloss = "margin_mse"\n'
        '[[data.collections]]\ncorpus = "a"\n[[validation.collections]]\nqueries = "b"\n'
    )
    recipe = load_recipe(sections)
    assert load_recipe(flat) == recipe
    assert (recipe.model.backbone, recipe.cotraining.tau) == ("minilm", 20.0)
    assert (recipe.term_weights.template_share, recipe.distillation.loss) == (0.5, "margin_mse")
    assert recipe.data.collections == (TrainingCollection(corpus="a"),)
    assert recipe.validation.collections == (DevCollection(queries="b"),)


def test_settings_are_named_with_or_without_their_section() -> None:
    recipe = make_recipe(tau=50, corpus="pydoc", gammas=[0.5])
    assert recipe.cotraining.tau == 50.0 and recipe.pruning.gammas == (0.5,)
    assert recipe == Recipe().with_settings(["cotraining.tau=50", "corpus=pydoc", "gammas=[0.5]"])
    assert recipe == Recipe().change(**{"cotraining.tau": 50, "data.corpus": "pydoc"}, gammas=[0.5])
    assert recipe.change(tau=60).cotraining.tau == 60
    assert recipe.cotraining.tau == 50  # unchanged
    for wrong, message in (
        ("cotraining.gammas=[]", "no setting 'cotraining.gammas'; did you mean pruning.gammas"),
        ("training.tau=50", "no setting 'training.tau'; did you mean cotraining.tau"),
        ("cotraining=50", "no setting 'cotraining'"),
    ):
        with pytest.raises(UsageError, match=message):
            recipe.with_settings([wrong])


def test_every_name_is_in_one_section_only() -> None:
    names = [
        (section, field.name)
        for section, settings in SECTIONS.items()
        for field in fields(settings)
        if field.name != "collections"
    ]
    assert len({name for _, name in names}) == len(names)
    assert {name: FLAT_NAMES[name] for _, name in names} == {x[1]: x for x in names}
    assert len(Recipe().flat()) == len(names) + 2


def test_flat_names_every_setting() -> None:
    recipe = load_recipe("spade-mini-v1")
    assert recipe.flat()["cotraining.tau"] == 75.0
    assert Recipe().change(**recipe.flat()) == recipe


def test_tables_in_a_recipe(tmp_path: Path) -> None:
    path = tmp_path / "two.toml"
    path.write_text('tau = 20\n[[data]]\ncorpus = "a"\nshare = 2\n[[dev]]\nsample = 7\n')
    recipe = load_recipe(path)
    assert recipe.data.collections == (TrainingCollection(corpus="a", share=2.0),)
    assert recipe.validation.collections == (DevCollection(sample=7),)
    for text, message in (
        ("[[data]]\ncorpsu = 'a'\n", "has no setting 'corpsu'; did you mean corpus"),
        ("data = [1]\n", "must be a list of tables"),
        ("[[data]]\nshare = 0\n", "share must be above 0"),
    ):
        path.write_text(text)
        with pytest.raises(UsageError, match=message):
            load_recipe(path)


def test_the_recipes_of_the_package() -> None:
    paper = load_recipe("paper")
    assert paper == Recipe()  # the defaults are the paper's
    paths = list(RECIPES.glob("*.toml"))
    assert len(paths) == 24
    for path in paths:
        recipe = load_recipe(path.stem)
        backbone = "bert-base-uncased" if path.stem == "paper" else "minilm"
        assert recipe.model.backbone == backbone
        assert tomllib.loads(path.read_text()).keys() <= {"base", *SECTIONS}
        # Recipes contain names of collections, not paths: the data directory is a parameter.
        trained = [(x.corpus, x.queries, x.qrels or "") for x in recipe.data.collections]
        validated = [(x.corpus, x.queries, x.qrels) for x in recipe.validation.collections]
        names = [name for collection in trained + validated for name in collection]
        assert not any(name.startswith((".", "/")) for name in names)


def test_settings(tmp_path: Path) -> None:
    changed = load_recipe("smoke").with_settings(["tau=25", "gammas=[]", "corpus=my corpus"])
    assert (changed.cotraining.tau, changed.pruning.gammas) == (25.0, ())
    assert changed.data.corpus == "my corpus"
    for setting, message in (
        ("tau", "'tau' is not a setting; write name=value"),
        ("nothing=1", "a recipe has no setting 'nothing'"),
        ("tau=0", "tau must be a percentage above 0"),
        ("k=2.5", "k is 2.5; expected int"),
        ("strategy=magic", "strategy must be one of cotrain, apart"),
        ("batch_size=true", "batch_size is True; expected int"),
        (f"tau={10**400}", "tau is an integer with too many digits"),
        (f"gammas=[{10**400}]", "gammas is an integer with too many digits"),
    ):
        with pytest.raises(UsageError, match=message):
            changed.with_settings([setting])
    for setting in ("joint_alpha=3", "weighting_rate=-0.1", "flops=nan", "max_grad_norm=inf"):
        with pytest.raises(UsageError, match=f"{setting.partition('=')[0]} must be "):
            changed.with_settings([setting])
    for setting in ("expansion_terms=-5", "dev_sample=-1", "rate_warmup=-1", "seed=100000000000"):
        with pytest.raises(UsageError, match=f"{setting.partition('=')[0]} must be "):
            changed.with_settings([setting])
    with pytest.raises(NotFoundError, match=r"known names: ablation, deepct, .*mini, paper, smoke"):
        load_recipe("papre")
    (tmp_path / "x.toml").write_text("tau = = 3")
    with pytest.raises(InputError, match="not a TOML file"):
        load_recipe(tmp_path / "x.toml")


def test_settings_that_tables_replace_are_refused(tmp_path: Path) -> None:
    tables = load_recipe("spade-mini-v1")
    for setting in ("corpus=mine", "teacher=run.txt", "dev_qrels=mine.txt"):
        with pytest.raises(UsageError, match=r"is ignored when \[\["):
            tables.with_settings([setting])
    assert tables.with_settings(["data=[]", "corpus=mine"]).training_collections[0].corpus == "mine"
    path = tmp_path / "both.toml"
    path.write_text('corpus = "one"\n[[data]]\ncorpus = "other"\n')
    with pytest.raises(UsageError, match=r"both\.toml: corpus is ignored"):
        load_recipe(path)


def test_dev_sets_that_lack_something(recipe: Recipe, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the recipe names no dev_qrels"):
        train(recipe.change(dev_qrels=None), tmp_path / "run")
    dev = DevCollection(queries=recipe.data.queries, qrels=str(recipe.data.qrels))
    assert recipe.change(dev=(dev,)).dev_collections == (replace(dev, corpus=recipe.data.corpus),)
    with pytest.raises(
        UsageError, match=r"a table \[\[validation.collections\]\] needs queries and qrels"
    ):
        train(recipe.change(dev=(replace(dev, qrels=""),)), tmp_path / "run")
    assert not (tmp_path / "run" / "recipe.json").exists()


def test_a_recipe_based_on_another_recipe(tmp_path: Path) -> None:
    base, ablation = load_recipe("spade-mini-v1"), load_recipe("ablation")
    assert (ablation.data, ablation.model.k) == (base.data, base.model.k)
    assert ablation.optimization.steps < base.optimization.steps
    assert ablation.validation.collections != base.validation.collections
    derived, basis = tmp_path / "derived.toml", tmp_path / "basis.toml"
    derived.write_text(f"base = '{basis}'\nk = 3")
    basis.write_text("base = 'smoke'\nk = 2\ntau = 50")
    changed = load_recipe(derived)
    assert (changed.model.k, changed.cotraining.tau) == (3, 50.0)
    assert changed.model.backbone == "minilm"
    for wrong, message in ((f"'{derived}'", "is based on this"), ("7", "not the name of a recipe")):
        basis.write_text(f"base = {wrong}")
        with pytest.raises(UsageError, match=message):
            load_recipe(derived)


def test_a_recipe_without_data(run: Commands, tmp_path: Path) -> None:
    result = run("train", "--recipe", "mini", "--output", tmp_path / "x")
    assert result.code == 2
    assert "the recipe names no corpus" in result.err


def test_columns_of_a_corpus(tmp_path: Path) -> None:
    """Validation on the training corpus reads the same columns; another corpus has its own."""
    path = tmp_path / "a.toml"
    path.write_text(
        'corpus = "goods.csv"\nqueries = "q.csv"\nqrels = "j.csv"\nid_field = "code"\n'
        'text_fields = ["info", "color"]\ndev_queries = "q.csv"\ndev_qrels = "j.csv"\n'
    )
    recipe = load_recipe(path)
    expected = CorpusSource("goods.csv", "code", None, ("info", "color"))
    assert corpus_source(recipe.training_collections[0]) == expected
    assert corpus_source(recipe.dev_collections[0]) == expected
    other = recipe.change(dev_corpus="other.csv")
    assert corpus_source(other.dev_collections[0]) == CorpusSource("other.csv")
    changed = recipe.with_settings(['text_fields=["info"]', "title_field=name"])
    assert corpus_source(changed.dev_collections[0]).text_fields == ("info",)
    assert json.loads(json.dumps(recipe.flat()))["data.text_fields"] == ["info", "color"]
    with pytest.raises(UsageError, match="text_fields"):
        recipe.with_settings(["text_fields=[1]"])
