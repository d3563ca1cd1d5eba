"""The loop on a tiny model and a tiny collection: right, repeatable, resumable."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeModel
from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.errors import (
    ArtifactError,
    InputError,
    NotFoundError,
    OutputExistsError,
    SpadeError,
    UsageError,
)
from spade_pyserini.formats.files import lock
from spade_pyserini.train import Recipe, fit_head, train
from spade_pyserini.train.checkpoint import load_checkpoint
from spade_pyserini.train.data import SampleStream, load_training_data
from spade_pyserini.train.cotraining import hardest, rival
from spade_pyserini.train.loop import Trainer
from spade_pyserini.train.run import start_model
from spade_pyserini.train.step import Encode


def events(run: Path, kind: str) -> list[dict[str, float]]:
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return [line for line in lines if line["event"] == kind]


def weights(run: Path) -> bytes:
    return (run / "checkpoint" / "tensors.safetensors").read_bytes()


def test_a_run_from_recipe_to_model(recipe: Recipe, tmp_path: Path) -> None:
    best = train(recipe, tmp_path / "run")
    model = SpadeModel.from_pretrained(best)
    assert model.config.trained
    assert model.config.scale is not None
    validations = events(tmp_path / "run", "validation")
    assert [line["step"] for line in validations] == [2, 4, 6, 8]
    top = max(validations[1:], key=lambda line: line["mrr"])  # the first is of the warm-up
    assert model.config.alpha == top["alpha"]
    steps = events(tmp_path / "run", "step")
    assert len(steps) == 8
    assert {"weighting_ranking", "expansion_ranking", "expansion_pointwise"} <= set(steps[0])
    assert events(tmp_path / "run", "exchange")
    card = (best / "README.md").read_text()
    assert f"MRR@10 {top['mrr']:.4f}" in card
    assert "tau" in card
    assert (tmp_path / "run" / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_seed_gives_the_same_weights(recipe: Recipe, tmp_path: Path) -> None:
    for name, seed in (("one", 3), ("two", 3), ("other", 4)):
        train(replace(recipe, seed=seed), tmp_path / name)
    assert weights(tmp_path / "one") == weights(tmp_path / "two") != weights(tmp_path / "other")


def test_kill_9_and_resume_end_in_the_same_bits(recipe: Recipe, tmp_path: Path) -> None:
    longer = replace(recipe, steps=24, validate_every=1)
    train(longer, tmp_path / "whole")
    settings = [
        f"{name}={json.dumps(list(value) if isinstance(value, tuple) else value)}"
        for name, value in longer.as_json().items()
        if value is not None
    ]
    command = [sys.executable, "-m", "spade_pyserini.train", "--recipe", "smoke"]
    command += [part for setting in settings for part in ("--set", setting)]
    command += ["--output", str(tmp_path / "killed")]
    process = subprocess.Popen(command)
    state = tmp_path / "killed" / "checkpoint" / "state.json"
    deadline = time.monotonic() + 120
    while not state.exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(0.2)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    found = load_checkpoint(tmp_path / "killed")
    assert found is not None
    assert found[0]["step"] < 24
    assert subprocess.run([*command, "--resume"], check=False).returncode == 0
    assert weights(tmp_path / "killed") == weights(tmp_path / "whole")
    lines = [line["step"] for line in events(tmp_path / "killed", "step")]
    assert lines == [line["step"] for line in events(tmp_path / "whole", "step")]


@pytest.mark.parametrize(
    ("strategy", "parts"),
    [
        ("weighting", {"weighting_ranking"}),
        ("expansion", {"expansion_ranking", "expansion_pointwise"}),
        ("joint", {"joint_ranking", "joint_pointwise"}),
        ("apart", {"weighting_ranking", "expansion_ranking", "expansion_pointwise"}),
    ],
)
def test_the_ablations(recipe: Recipe, tmp_path: Path, strategy: str, parts: set[str]) -> None:
    best = train(replace(recipe, strategy=strategy), tmp_path / "run")
    line = events(tmp_path / "run", "step")[0]
    assert {name for name in line if name.endswith(("ranking", "pointwise"))} == parts
    assert not events(tmp_path / "run", "exchange")
    alphas = {"weighting": 0.0, "expansion": 1.0, "joint": 0.3}
    alpha = SpadeModel.from_pretrained(best).config.alpha
    assert alpha == alphas.get(strategy, alpha)


def loss_alone(trainer: Trainer, encode: Encode, place: int) -> float:
    sample = trainer.data.samples[place]
    both = (encode(trainer.objective.ids([one])) for one in (sample.positive, sample.negatives[0]))
    return trainer.objective.hardness([place], *both).item()


def test_each_encoder_gets_what_the_other_finds_hard(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    trainer = Trainer(replace(recipe, warmup_steps=0), tmp_path / "run")
    block = SampleStream([len(trainer.data.samples)], recipe.seed).take(recipe.block)
    trainer.model.eval()
    hard = {}
    for name in ("weighting", "expansion"):
        encode = partial(trainer._only_encode, name)
        hard[name] = hardest(trainer.objective, encode, block, 4)
        losses = {place: loss_alone(trainer, encode, place) for place in block}
        assert hard[name] == sorted(block, key=losses.__getitem__, reverse=True)[:4]
    trainer._exchange_block()
    assert hard["weighting"] != hard["expansion"]
    assert trainer.queues["weighting"] == hard["expansion"]
    assert trainer.queues["expansion"] == hard["weighting"]


@pytest.mark.parametrize("distillation", ["kl", "margin_mse"])
def test_distillation_follows_the_teacher(
    recipe: Recipe, tmp_path: Path, distillation: str
) -> None:
    """With nothing but a teacher that hates the positives, their scores fall below the others."""
    data = load_training_data(recipe)
    with (tmp_path / "teacher.txt").open("w") as stream:
        pairs: dict[tuple[str, str], float] = {}
        for sample in data.samples:
            pairs |= {(sample.qid, docid): 9.0 for docid in sample.negatives}
            pairs[sample.qid, sample.positive] = 1.0
        for (qid, docid), score in pairs.items():
            stream.write(f"{qid} Q0 {docid} 1 {score} x\n")
    taught = replace(
        recipe,
        teacher=str(tmp_path / "teacher.txt"),
        distillation=distillation,
        distillation_weight=100.0,
        strategy="expansion",
        steps=40,
        warmup_steps=40,
    )
    train(taught, tmp_path / "run")
    values = [line["expansion_distillation"] for line in events(tmp_path / "run", "step")]
    assert sum(values[-5:]) < 0.85 * sum(values[:5])
    (tmp_path / "teacher.txt").write_text("q0 Q0 d0 1 3 x\n")
    with pytest.raises(InputError, match="no score of 'd2' for the query 'q0'"):
        load_training_data(taught)


def test_without_negatives_another_querys_positive_is_the_rival(
    recipe: Recipe, tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir()
    trainer = Trainer(replace(recipe, negatives=None), tmp_path / "run")
    block = list(range(len(trainer.data.samples)))
    for number in block:
        found = rival(trainer.data, block, number)
        sample = trainer.data.samples[number]
        assert found not in read_qrels(recipe.qrels or "")[sample.qid]


def test_removed_terms_are_gone_from_the_model(recipe: Recipe, tmp_path: Path) -> None:
    best = train(replace(recipe, gammas=(0.3,), period=1), tmp_path / "run")
    removed = sum(int(line["removed"]) for line in events(tmp_path / "run", "step"))
    model = SpadeModel.from_pretrained(best)
    special = len(model.wordpieces.special_ids)
    assert removed > 0
    assert 0 < int((~model.kept).sum()) - special <= removed


def test_joint_learning_counts_what_the_expansion_encoder_adds(
    recipe: Recipe, tmp_path: Path
) -> None:
    """Not the terms that documents have anyway: those would be pruned in their place."""
    joint = replace(recipe, strategy="joint", warmup_steps=0, gammas=(), k=1)
    trainer = Trainer(joint, tmp_path / "run")
    places = trainer._next_batch("weighting")
    ids = trainer.objective.ids(trainer.objective.documents(places))
    with torch.no_grad():
        own, added = (trainer._encode(name, ids) for name in ("weighting", "expansion"))
    trainer._train_jointly(places)
    assert torch.equal(trainer.frequency.counts, (added > 0).sum(dim=0))
    assert not torch.equal((added > 0).sum(dim=0), ((own > 0) | (added > 0)).sum(dim=0))


def test_another_recipe_in_the_same_folder(recipe: Recipe, tmp_path: Path) -> None:
    short = replace(recipe, steps=3)
    train(short, tmp_path / "run")
    with pytest.raises(OutputExistsError, match="pass --resume"):
        train(short, tmp_path / "run")
    with pytest.raises(OutputExistsError, match=r"tau 50\.0, now 10\.0"):
        train(replace(short, tau=10.0), tmp_path / "run", resume=True)


def test_another_stage_in_the_same_folder(recipe: Recipe, tmp_path: Path) -> None:
    short = replace(recipe, steps=3)
    fit_head(short, tmp_path / "run")
    with pytest.raises(OutputExistsError, match="stage head, now train"):
        train(short, tmp_path / "run", resume=True)


def test_one_run_at_a_time(recipe: Recipe, tmp_path: Path) -> None:
    with lock(tmp_path / "run"), pytest.raises(OutputExistsError, match="another process"):
        train(recipe, tmp_path / "run")
    assert train(replace(recipe, steps=3), tmp_path / "run").is_dir()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_length_that_the_backbone_has_not_is_told_at_once(recipe: Recipe, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="1024"):
        train(replace(recipe, encode_length=1024), tmp_path / "run")
    assert not (tmp_path / "run" / "recipe.json").exists()
    assert start_model(replace(recipe, encode_length=48)).config.max_length == recipe.max_length


def test_a_damaged_checkpoint_is_told(recipe: Recipe, tmp_path: Path) -> None:
    short = replace(recipe, steps=3)
    train(short, tmp_path / "run")
    (tmp_path / "run" / "finished").unlink()
    (tmp_path / "run" / "checkpoint" / "state.json").write_text("{}")
    with pytest.raises(ArtifactError, match=r"checkpoint is damaged .*; remove it to begin again"):
        train(short, tmp_path / "run", resume=True)


def test_of_a_finished_run_nothing_is_read_again(recipe: Recipe, tmp_path: Path) -> None:
    queries = Path(shutil.copy(recipe.queries or "", tmp_path))
    short = replace(recipe, queries=str(queries), steps=3)
    best = train(short, tmp_path / "run")
    queries.unlink()
    assert train(short, tmp_path / "run", resume=True) == best
    with pytest.raises(OutputExistsError, match=r"tau 50\.0, now 10\.0"):
        train(replace(short, tau=10.0), tmp_path / "run", resume=True)
    (tmp_path / "run" / "finished").unlink()
    with pytest.raises(NotFoundError, match=r"queries\.tsv"):
        train(short, tmp_path / "run", resume=True)


def test_nan_stops_and_keeps_the_last_checkpoint(recipe: Recipe, tmp_path: Path) -> None:
    wild = replace(recipe, weighting_rate=1e30, head_rate=1e30, steps=50, validate_every=1)
    with pytest.raises(
        SpadeError, match=r"the loss is .* at step \d+; the last checkpoint is kept"
    ) as raised:
        train(wild, tmp_path / "run")
    found = load_checkpoint(tmp_path / "run")
    assert found is not None
    state, tensors = found
    assert f"at step {state['step'] + 1};" in str(raised.value)
    assert all(torch.isfinite(one).all() for x, one in tensors.items() if x.startswith("model."))


def test_a_recipe_that_names_nothing_leaves_the_folder_to_a_better_one(
    recipe: Recipe, tmp_path: Path
) -> None:
    short = replace(recipe, steps=1, warmup_steps=0)
    for stage, message in ((train, "names no corpus"), (fit_head, "corpus")):
        with pytest.raises(SpadeError, match=message):
            stage(replace(short, corpus=""), tmp_path / stage.__name__)
        assert stage(short, tmp_path / stage.__name__).is_dir()


@pytest.mark.parametrize(
    ("strategy", "alpha"), [("weighting", 0.0), ("expansion", 1.0), ("joint", 0.3)]
)
def test_alpha_without_a_dev_set(
    recipe: Recipe, tmp_path: Path, strategy: str, alpha: float
) -> None:
    """What was not trained has no share."""
    changed = replace(recipe, strategy=strategy, dev_queries="", dev_qrels="")
    best = train(changed, tmp_path / "run")
    assert SpadeModel.from_pretrained(best).config.alpha == alpha


def test_a_head_with_a_rate_of_0_stays_as_it_was(recipe: Recipe, tmp_path: Path) -> None:
    frozen = replace(recipe, head_rate=1e-2, expansion_head_rate=0.0)
    start, best = start_model(frozen), train(frozen, tmp_path / "run")
    trained = SpadeModel.from_pretrained(best)
    moved = [
        not torch.equal(*(model.get_parameter(name) for model in (start, trained)))
        for name in ("expansion.head.dense.weight", "weighting.head.1.weight")
    ]
    assert moved == [False, True]


def test_terms_are_those_of_the_encoder_that_has_a_share(recipe: Recipe, tmp_path: Path) -> None:
    train(replace(recipe, strategy="weighting", weighting_bias=1.0), tmp_path / "run")
    (*_, last) = events(tmp_path / "run", "validation")
    documents = load_training_data(recipe).documents.values()
    assert 0 < last["terms"] <= max(len(text.split()) for text in documents)
    assert last["expanded"] > 0
