"""The folder of a run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from spade_pyserini.errors import (
    NotFoundError,
    OutputExistsError,
    SpadeError,
    UsageError,
)
from spade_pyserini.formats.locks import lock
from spade_pyserini.train import (
    Recipe,
    fit_masked_lm,
    run_stage,
    train,
)
from spade_pyserini.train.log import read_log


def test_a_run_that_was_begun_before_a_setting_existed(recipe: Recipe, tmp_path: Path) -> None:
    train(recipe, tmp_path / "run")
    path = tmp_path / "run" / "recipe.json"
    old = json.loads(path.read_text())
    del old["term_weights"]["saturate"]
    path.write_text(json.dumps(old))
    train(recipe, tmp_path / "run", resume=True)
    with pytest.raises(OutputExistsError, match="saturate None, now True"):
        train(recipe.change(saturate=True), tmp_path / "run", resume=True)


def test_a_run_of_a_version_without_sections_resumes(recipe: Recipe, tmp_path: Path) -> None:
    """A ``recipe.json`` of an earlier version has no sections, and some names differ."""
    train(recipe, tmp_path / "run")
    renamed = {
        "data.collections": "data",
        "validation.collections": "dev",
        "distillation.loss": "distillation",
        "term_weights.template_share": "requests",
    }
    flat = recipe.flat().items()
    old = {renamed.get(name, name.partition(".")[2]): value for name, value in flat}
    assert (old["tau"], old["data"], old["distillation"]) == (50.0, (), "kl")
    path = tmp_path / "run" / "recipe.json"
    path.write_text(json.dumps({"stage": "train", **old}))
    (tmp_path / "run" / "finished").unlink()
    steps = len(read_log(tmp_path / "run", "step"))
    assert train(recipe, tmp_path / "run", resume=True).is_dir()
    assert len(read_log(tmp_path / "run", "step")) == steps
    path.write_text(json.dumps({"stage": "train", **old, "tau": 10.0}))
    with pytest.raises(OutputExistsError, match=r"cotraining\.tau 10\.0, now 50\.0"):
        train(recipe, tmp_path / "run", resume=True)
    path.write_text(json.dumps({"stage": "train", **old, "no_such_setting": 1}))
    with pytest.raises(OutputExistsError, match="no_such_setting 1, now None"):
        train(recipe, tmp_path / "run", resume=True)


def test_older_names_of_stages(recipe: Recipe, tmp_path: Path) -> None:
    short = recipe.change(steps=1, warmup_steps=0)
    (best,) = run_stage("head", short, tmp_path / "run")
    path = tmp_path / "run" / "recipe.json"
    values = json.loads(path.read_text())
    assert values["stage"] == "masked-lm"
    path.write_text(json.dumps({**values, "stage": "head"}))
    assert run_stage("masked-lm", short, tmp_path / "run", resume=True) == [best]
    with pytest.raises(UsageError, match="known names: mine, teach, masked-lm, term-vectors"):
        run_stage("heads", short, tmp_path / "other")


def test_another_recipe_in_the_same_folder(recipe: Recipe, tmp_path: Path) -> None:
    short = recipe.change(steps=3)
    train(short, tmp_path / "run")
    assert train(short, tmp_path / "run") == tmp_path / "run" / "best"
    with pytest.raises(OutputExistsError, match=r"tau 50\.0, now 10\.0"):
        train(short.change(tau=10.0), tmp_path / "run", resume=True)


def test_another_recipe_after_a_run_without_a_checkpoint(
    recipe: Recipe, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = tmp_path / "run"
    train(recipe.change(steps=3), run)
    (run / "finished").unlink()
    other = recipe.change(steps=2, warmup_steps=0)
    for name in ("best", "checkpoint"):
        with pytest.raises(OutputExistsError, match="steps 3, now 2"):
            train(other, run)
        shutil.rmtree(run / name)
    with caplog.at_level("INFO"):
        train(other, run)
    assert "stopped before its first checkpoint" in caplog.text
    assert json.loads((run / "recipe.json").read_text())["optimization"]["steps"] == 2
    assert [line["step"] for line in read_log(run, "step")] == [1, 2]


def test_an_unfinished_run_of_another_stage_is_not_replaced(recipe: Recipe, tmp_path: Path) -> None:
    run = tmp_path / "run"
    fit_masked_lm(recipe.change(steps=3), run)
    for name in ("best", "checkpoint"):
        shutil.rmtree(run / name, ignore_errors=True)
    (run / "finished").unlink()
    with pytest.raises(OutputExistsError, match="stage masked-lm, now train"):
        train(recipe.change(steps=3), run)


def test_another_stage_in_the_same_folder(recipe: Recipe, tmp_path: Path) -> None:
    short = recipe.change(steps=3)
    fit_masked_lm(short, tmp_path / "run")
    with pytest.raises(OutputExistsError, match="stage masked-lm, now train"):
        train(short, tmp_path / "run", resume=True)


def test_nothing_to_resume(
    recipe: Recipe, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("WARNING"):
        train(recipe.change(steps=1, warmup_steps=0), tmp_path / "run", resume=True)
    assert "run has no run to resume; a new one is started" in caplog.text


def test_one_run_at_a_time(recipe: Recipe, tmp_path: Path) -> None:
    with lock(tmp_path / "run"), pytest.raises(OutputExistsError, match="another process"):
        train(recipe, tmp_path / "run")
    assert train(recipe.change(steps=3), tmp_path / "run").is_dir()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_resuming_a_finished_run_reads_no_data(recipe: Recipe, tmp_path: Path) -> None:
    queries = Path(shutil.copy(recipe.data.queries or "", tmp_path))
    short = recipe.change(queries=str(queries), steps=3)
    best = train(short, tmp_path / "run")
    queries.unlink()
    assert train(short, tmp_path / "run", resume=True) == best
    with pytest.raises(OutputExistsError, match=r"tau 50\.0, now 10\.0"):
        train(short.change(tau=10.0), tmp_path / "run", resume=True)
    (tmp_path / "run" / "finished").unlink()
    with pytest.raises(NotFoundError, match=r"queries\.tsv"):
        train(short, tmp_path / "run", resume=True)


def test_a_recipe_without_a_corpus_does_not_claim_the_folder(
    recipe: Recipe, tmp_path: Path
) -> None:
    short = recipe.change(steps=1, warmup_steps=0)
    for stage, message in ((train, "names no corpus"), (fit_masked_lm, "names no corpus")):
        with pytest.raises(SpadeError, match=message):
            stage(short.change(corpus=""), tmp_path / stage.__name__)
        assert stage(short, tmp_path / stage.__name__).is_dir()
