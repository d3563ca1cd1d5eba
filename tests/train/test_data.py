"""Recipes and samples, and what is wrong with them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from spade_pyserini import SpadeModel
from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.errors import InputError, NotFoundError, UsageError
from spade_pyserini.train import Recipe, load_recipe, mine_negatives, train
from spade_pyserini.train.data import SampleStream, load_training_data
from spade_pyserini.train.recipe import RECIPES, DevCollection, TrainingCollection
from spade_pyserini.train.validate import DevSet
from tests.commands import Commands


def test_the_recipes_of_the_package() -> None:
    paper = load_recipe("paper")
    assert paper == Recipe()  # the defaults are the paper's
    for path in RECIPES.glob("*.toml"):
        backbone = "bert-base-uncased" if path.stem == "paper" else "minilm"
        assert load_recipe(path.stem).backbone == backbone


def test_two_collections_that_would_mine_into_one_file(tmp_path: Path) -> None:
    one = TrainingCollection(corpus="pydoc", queries="pydoc-dev", qrels="pydoc-dev")
    recipe = Recipe(data=(one, replace(one, queries="pydoc-test")))
    with pytest.raises(UsageError, match=r"would write negatives\.pydoc\.txt"):
        mine_negatives(recipe, tmp_path / "mined")
    named = tmp_path / "pydoc.jsonl"
    named.write_text('{"id": "x", "contents": "a cat"}\n')
    recipe = Recipe(data=(one,), dev=(DevCollection(str(named), "pydoc-dev", "pydoc-dev"),))
    with pytest.raises(UsageError, match=r"pydoc and .*pydoc\.jsonl have the same name"):
        mine_negatives(recipe, tmp_path / "mined")
    assert not (tmp_path / "mined").exists()


def test_settings(tmp_path: Path) -> None:
    changed = load_recipe("smoke").with_settings(["tau=25", "gammas=[]", "corpus=my corpus"])
    assert (changed.tau, changed.gammas, changed.corpus) == (25.0, (), "my corpus")
    for setting in ("tau", "nothing=1", "tau=0", "k=2.5", "strategy=magic", "batch_size=true"):
        with pytest.raises(UsageError):
            changed.with_settings([setting])
    for setting in ("joint_alpha=3", "weighting_rate=-0.1", "flops=nan", "max_grad_norm=inf"):
        with pytest.raises(UsageError, match=f"{setting.partition('=')[0]} is "):
            changed.with_settings([setting])
    for setting in ("expansion_terms=-5", "dev_sample=-1", "rate_warmup=-1", "seed=100000000000"):
        with pytest.raises(UsageError, match=f"{setting.partition('=')[0]} is "):
            changed.with_settings([setting])
    with pytest.raises(NotFoundError, match="known names: ablation, mini, paper, smoke"):
        load_recipe("papre")
    (tmp_path / "x.toml").write_text("tau = = 3")
    with pytest.raises(InputError, match="not a TOML file"):
        load_recipe(tmp_path / "x.toml")


def test_what_tables_stand_instead_of_is_not_given_in_vain(tmp_path: Path) -> None:
    tables = load_recipe("spade-mini")
    for setting in ("corpus=mine", "teacher=run.txt", "dev_qrels=mine.txt"):
        with pytest.raises(UsageError, match=r"says nothing beside the tables \[\[d"):
            tables.with_settings([setting])
    assert tables.with_settings(["data=[]", "corpus=mine"]).collections[0].corpus == "mine"
    path = tmp_path / "both.toml"
    path.write_text('corpus = "one"\n[[data]]\ncorpus = "other"\n')
    with pytest.raises(UsageError, match=r"both\.toml: corpus says nothing"):
        load_recipe(path)
    with pytest.raises(UsageError, match="one teacher is enough"):
        Recipe(dense_teacher="minilm", data=(TrainingCollection(corpus="one", teacher="run.txt"),))


def test_dev_sets_that_lack_something(recipe: Recipe, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the recipe names no dev_qrels"):
        train(replace(recipe, dev_qrels=None), tmp_path / "run")
    one = DevCollection(queries=recipe.queries, qrels=str(recipe.qrels))
    assert replace(recipe, dev=(one,)).dev_collections == (replace(one, corpus=recipe.corpus),)
    with pytest.raises(UsageError, match="a table of dev needs queries and qrels"):
        train(replace(recipe, dev=(replace(one, qrels=""),)), tmp_path / "run")
    assert not (tmp_path / "run" / "recipe.json").exists()


def test_a_dev_set_of_another_corpus(
    recipe: Recipe, tiny_model: SpadeModel, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Every alpha would be as good as any other."""
    other = tmp_path / "other.jsonl"
    other.write_text('{"id": "x", "contents": "a cat"}\n')
    one = DevCollection(str(other), recipe.queries, str(recipe.qrels), pool=recipe.negatives)
    with pytest.raises(InputError, match=r"other\.jsonl: none of the 12 relevant documents of"):
        DevSet(one, tiny_model.wordpieces)
    other.write_text('{"id": "d0", "contents": "a cat"}\n')
    assert DevSet(one, tiny_model.wordpieces).docids == ["d0"]
    assert "11 of 12 relevant documents" in caplog.text


def test_a_teachers_file_wants_as_many_negatives_everywhere(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("q1\td3\td9\n")
    (tmp_path / "teacher.txt").write_text(
        "".join(f"q{q} Q0 d{d} {d + 1} {99 - d} x\n" for q in range(6) for d in range(30))
    )
    plain = TrainingCollection(recipe.corpus, recipe.queries, teacher=str(tmp_path / "teacher.txt"))
    two = replace(plain, qrels=recipe.qrels, negatives=recipe.negatives)
    both = (two, replace(plain, triples=str(tmp_path / "t.tsv")))
    assert len(load_training_data(replace(recipe, data=both)).samples) == 13
    with pytest.raises(UsageError, match="all samples need as many negatives"):
        load_training_data(replace(recipe, data=both, hard_negatives=2))


def test_a_recipe_on_another_one(tmp_path: Path) -> None:
    base, ablation = load_recipe("spade-mini"), load_recipe("ablation")
    assert (ablation.data, ablation.k) == (base.data, base.k)
    assert ablation.steps < base.steps
    assert [one.corpus for one in ablation.dev] != [one.corpus for one in base.dev]
    one, other = tmp_path / "one.toml", tmp_path / "other.toml"
    one.write_text(f"base = '{other}'\nk = 3")
    other.write_text("base = 'smoke'\nk = 2\ntau = 50")
    changed = load_recipe(one)
    assert (changed.k, changed.tau, changed.backbone) == (3, 50.0, "minilm")
    for wrong, told in ((f"'{one}'", "leads back here"), ("7", "not a recipe's name")):
        other.write_text(f"base = {wrong}")
        with pytest.raises(UsageError, match=told):
            load_recipe(one)


def test_the_stream_is_a_permutation_each_epoch_and_resumes() -> None:
    stream = SampleStream([7], seed=1)
    first, second = stream.take(7), stream.take(7)
    assert sorted(first) == sorted(second) == list(range(7))
    assert first != second
    again = SampleStream([7], seed=1)
    again.state = [9, 5]
    assert again.take(4) == (first + second)[5:9]


def test_several_collections_share_the_batches() -> None:
    stream = SampleStream([5, 50], seed=1, shares=[3.0, 1.0])
    taken = [stream.take(4) for _ in range(200)]
    first = [all(place < 5 for place in batch) for batch in taken]
    second = [all(5 <= place < 55 for place in batch) for batch in taken]
    assert all(one or two for one, two in zip(first, second, strict=True))
    assert 120 < sum(first) < 180


def test_samples_from_qrels_and_triples(recipe: Recipe, tmp_path: Path) -> None:
    data = load_training_data(recipe)
    assert len(data.samples) == 12
    assert data.samples[0] == ("q0", "d0", ("d2",))
    (tmp_path / "t.tsv").write_text("q1\td3\td9\n")
    triples = replace(recipe, qrels=None, negatives=None, triples=str(tmp_path / "t.tsv"))
    assert load_training_data(triples).samples == [("q1", "d3", ("d9",))]


def test_unlabelled_queries_take_their_positives_from_a_run(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text(
        "q0 Q0 d5 1 0.9 x\nq0 Q0 d6 2 0.8 x\nq0 Q0 d7 3 0.7 x\n"
        "q1 Q0 d5 1 0.4 x\nq1 Q0 d6 2 0.3 x\n"  # nothing good enough
        "q2 Q0 d8 1 0.6 x\n"  # and nothing beside it
    )
    found = TrainingCollection(
        recipe.corpus, recipe.queries, negatives=str(tmp_path / "run.txt"), least_score=0.5
    )
    with pytest.raises(UsageError, match="nobody says what is relevant"):
        load_training_data(replace(recipe, data=(found,)))
    recipe = replace(recipe, dense_teacher="minilm")
    assert load_training_data(replace(recipe, data=(found,))).samples == [("q0", "d5", ("d7",))]
    with pytest.raises(InputError, match=r"no query has a hit of 0\.95"):
        load_training_data(replace(recipe, data=(replace(found, least_score=0.95),)))
    with pytest.raises(UsageError, match="needs qrels, triples or a run"):
        load_training_data(replace(recipe, data=(replace(found, negatives=None),)))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("triples", "q1\td3\n", r":1: expected `qid <tab> positive <tab> negative`"),
        ("triples", "q77\td3\td4\n", "no topic has the id 'q77'"),
        ("triples", "q1\td3\tnobody\n", "1 documents of the samples are not in the corpus"),
        ("qrels", "q1 0 nobody 1\n", "1 documents of the samples are not in the corpus"),
        ("triples", "", "holds no triple"),
        ("expansions", "d1\t \n", r":1: the expansion of 'd1' is empty"),
        ("expansions", "d1\n", r":1: expected `docid <tab> text`"),
        ("qrels", "q1 0 d1 0\n", "no query has a positive"),
    ],
)
def test_bad_training_data(
    recipe: Recipe, tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / "f.tsv").write_text(content)
    changes = {name: str(tmp_path / "f.tsv")} | ({"qrels": None} if name == "triples" else {})
    with pytest.raises(InputError, match=message):
        load_training_data(replace(recipe, **changes))  # type: ignore[arg-type]


def test_judged_documents_that_are_not_there_are_left_out_and_told(
    recipe: Recipe, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "qrels.txt").write_text("q0 0 d0 1\nq1 0 nobody 1\n")
    data = load_training_data(replace(recipe, qrels=str(tmp_path / "qrels.txt")))
    assert [sample.qid for sample in data.samples] == ["q0"]
    assert "'nobody'; 1 samples are left out" in caplog.text


def test_expansions_are_appended(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "e.tsv").write_text("d0\tsome new words\n")
    data = load_training_data(replace(recipe, expansions=str(tmp_path / "e.tsv")))
    assert data.documents["d0"].endswith(" some new words")


@pytest.mark.java
def test_hard_negatives_are_mined_with_bm25(recipe: Recipe, tmp_path: Path, run: Commands) -> None:
    settings = ("corpus", "queries", "qrels")
    arguments = [part for name in settings for part in ("--set", f"{name}={getattr(recipe, name)}")]
    arguments += ["--recipe", "mini", "--stage", "mine", "--output", str(tmp_path / "mined")]
    assert run("train", *arguments).code == 0
    mined = load_training_data(
        replace(recipe, negatives=str(tmp_path / "mined/negatives.tiny.txt"))
    )
    qrels = read_qrels(recipe.qrels or "")
    assert mined.samples
    for sample in mined.samples:
        assert not set(sample.negatives) & set(qrels[sample.qid])
    other = tmp_path / "tiny.jsonl"
    other.write_text('{"id": "new", "contents": "old cat big dog"}\n')
    assert run("train", *arguments, "--set", f"corpus={other}").code == 0
    assert " new 1 " in (tmp_path / "mined/negatives.tiny.txt").read_text()


def test_a_recipe_without_data(run: Commands, tmp_path: Path) -> None:
    result = run("train", "--recipe", "mini", "--output", tmp_path / "x")
    assert result.code == 2
    assert "the recipe names no corpus; add --set corpus=..." in result.err
