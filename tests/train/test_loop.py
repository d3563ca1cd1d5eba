"""The training loop with a tiny model and a tiny collection: results, repetition, resuming."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeModel
from spade_pyserini.errors import SpadeError
from spade_pyserini.train import Recipe, train
from spade_pyserini.train.checkpoint import load_checkpoint
from spade_pyserini.train.log import read_log
from spade_pyserini.train.loop import Trainer
from spade_pyserini.train.run import Run
from spade_pyserini.train.stream import SampleStream
from tests.conftest import ROOT


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
    # The first validation is in the warm-up, so its model cannot be the best one.
    top = max(validations[1:], key=lambda line: line["mrr"])
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
        train(recipe.change(seed=seed), tmp_path / name)
    assert weights(tmp_path / "one") == weights(tmp_path / "two") != weights(tmp_path / "other")


def test_kill_9_and_resume_end_in_the_same_bits(recipe: Recipe, tmp_path: Path) -> None:
    longer = recipe.change(steps=24, validate_every=1)
    train(longer, tmp_path / "complete")
    settings = [
        f"{name}={json.dumps(list(value) if isinstance(value, tuple) else value)}"
        for name, value in longer.flat().items()
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
    checkpoint = load_checkpoint(tmp_path / "killed")
    assert checkpoint is not None
    assert checkpoint[0]["step"] < 24
    assert subprocess.run(command, check=False).returncode == 0
    assert weights(tmp_path / "killed") == weights(tmp_path / "complete")
    lines = [line["step"] for line in events(tmp_path / "killed", "step")]
    assert lines == [line["step"] for line in events(tmp_path / "complete", "step")]


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
    best = train(recipe.change(strategy=strategy), tmp_path / "run")
    line = events(tmp_path / "run", "step")[0]
    assert {name for name in line if name.endswith(("ranking", "pointwise"))} == parts
    assert not events(tmp_path / "run", "exchange")
    validations = events(tmp_path / "run", "validation")
    # "apart" prunes from the start, so the models of all its validations can be the best one.
    top = max(validations, key=lambda line: line["mrr"])["alpha"]
    alphas = {"weighting": 0.0, "expansion": 1.0, "joint": 0.3, "apart": top}
    assert SpadeModel.from_pretrained(best).config.alpha == alphas[strategy]


@pytest.mark.parametrize("strategy", ["apart", "cotrain"])
def test_encoders_apart_take_all_samples_and_prune_from_the_start(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    """With co-training, each encoder takes hard samples of the other; warm-up does not prune."""
    trainer = Trainer(Run("train", recipe.change(strategy=strategy), tmp_path / "run"))
    batches: dict[str, list[list[int]]] = {"weighting": [], "expansion": []}
    top_k: list[bool] = []
    train_encoder = trainer.train_encoder

    def record(encoder: str, samples: list[int]) -> dict[str, float]:
        batches[encoder].append(samples)
        top_k.append(not trainer.warming_up)
        return train_encoder(encoder, samples)

    monkeypatch.setattr(trainer, "train_encoder", record)
    trainer.train()
    settings = recipe.optimization
    stream = SampleStream(trainer.data.sizes, settings.seed)
    in_order = [stream.take(settings.batch_size) for _ in range(settings.steps)]
    apart = strategy == "apart"
    assert (batches["weighting"] == batches["expansion"] == in_order) is apart
    assert all(top_k) is apart
    warmup = 0 if apart else settings.warmup_steps
    assert trainer.frequency.steps == settings.steps - warmup


def test_removed_terms_are_gone_from_the_model(recipe: Recipe, tmp_path: Path) -> None:
    best = train(recipe.change(gammas=(0.3,), period=1), tmp_path / "run")
    removed = sum(int(line["removed"]) for line in events(tmp_path / "run", "step"))
    model = SpadeModel.from_pretrained(best)
    special = len(model.wordpieces.special_ids)
    assert removed > 0
    assert 0 < int((~model.kept).sum()) - special <= removed


def test_joint_learning_counts_what_the_expansion_encoder_adds(
    recipe: Recipe, tmp_path: Path
) -> None:
    """Corpus-level pruning counts expansion terms only, not those of the weighting encoder."""
    joint = recipe.change(strategy="joint", warmup_steps=0, gammas=(), k=1)
    trainer = Trainer(Run("train", joint, tmp_path / "run"))
    samples = trainer.stream.take(joint.optimization.batch_size)
    ids = trainer.objective.ids(trainer.objective.documents(samples))
    with torch.no_grad():
        own, added = (trainer.encode(name, ids) for name in ("weighting", "expansion"))
    trainer.train_jointly(samples)
    assert torch.equal(trainer.frequency.counts, (added > 0).sum(dim=0))
    assert not torch.equal((added > 0).sum(dim=0), ((own > 0) | (added > 0)).sum(dim=0))


def test_nan_stops_and_keeps_the_last_checkpoint(recipe: Recipe, tmp_path: Path) -> None:
    wild = recipe.change(weighting_rate=1e30, head_rate=1e30, steps=50, validate_every=1)
    with pytest.raises(
        SpadeError, match=r"the loss is .* at step \d+; the last checkpoint is intact"
    ) as raised:
        train(wild, tmp_path / "run")
    checkpoint = load_checkpoint(tmp_path / "run")
    assert checkpoint is not None
    state, tensors = checkpoint
    assert f"at step {state['step'] + 1};" in str(raised.value)
    assert all(torch.isfinite(x).all() for name, x in tensors.items() if name.startswith("model."))


def test_no_steps_change_only_the_settings_of_the_initial_model(
    recipe: Recipe, tmp_path: Path
) -> None:
    first = train(recipe.change(idf="counted"), tmp_path / "first")
    changed = recipe.change(init=str(first), steps=0, warmup_steps=0, corpus_idf=0.5)
    second = train(changed, tmp_path / "second")
    before, after = SpadeModel.from_pretrained(first), SpadeModel.from_pretrained(second)
    assert torch.equal(before.query_weights, after.query_weights)
    assert (before.config.corpus_idf, after.config.corpus_idf) == (0.0, 0.5)
    assert before.encode(["the old cat"]) != after.encode(["the old cat"])
    unvalidated = changed.change(dev_queries=None, dev_qrels=None)
    third = train(unvalidated, tmp_path / "third")
    assert "It was not validated." in (third / "README.md").read_text()


def test_mixed_precision(recipe: Recipe, tmp_path: Path) -> None:
    for strategy in ("cotrain", "joint"):
        train(recipe.change(precision="bf16", strategy=strategy), tmp_path / strategy)
        assert len(read_log(tmp_path / strategy, "step")) == recipe.optimization.steps


@pytest.mark.slow
def test_two_processes_train_and_stop_together(recipe: Recipe, tmp_path: Path) -> None:
    """The main process decides to stop early, and the other process stops at the same step."""
    recipe = recipe.change(steps=40, patience=1, validate_every=1, weighting_rate=0.0)
    recipe = recipe.change(expansion_rate=0.0, warmup_steps=0)
    path = tmp_path / "recipe.toml"
    settings = {key: value for key, value in recipe.flat().items() if value is not None}
    path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items()))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc_per_node", "2", "-m", "spade_pyserini.train", "--recipe", str(path)]
    command += ["--output", str(tmp_path / "run")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ACCELERATE_USE_CPU": "true"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    # Training stops, because nothing improves.
    assert len(read_log(tmp_path / "run", "validation")) == 2
    assert SpadeModel.from_pretrained(tmp_path / "run" / "best").config.trained
