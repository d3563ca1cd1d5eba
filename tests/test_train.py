"""The loop on a tiny model and a tiny collection: right, repeatable, resumable."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator

from spade_pyserini import SpadeModel
from spade_pyserini.errors import (
    InputError,
    NotFoundError,
    OutputExistsError,
    SpadeError,
    UsageError,
)
from spade_pyserini.evaluate import read_qrels
from spade_pyserini.train import Recipe, load_recipe, train
from spade_pyserini.train.checkpoint import load_checkpoint
from spade_pyserini.train.data import SampleStream, load_training_data
from spade_pyserini.train.loop import Trainer
from spade_pyserini.train.step import backward
from tests.commands import Commands


@pytest.fixture(scope="module")
def recipe(
    tiny_backbone: Path, tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> Recipe:
    """Six queries, two of their documents relevant, hard negatives from a run."""
    folder = tmp_path_factory.mktemp("training")
    texts = ["old cat", "big dog", "red river", "open file", "a small bird", "the tree sings"]
    with (
        (folder / "queries.tsv").open("w") as queries,
        (folder / "qrels.txt").open("w") as qrels,
        (folder / "run.txt").open("w") as run,
    ):
        for qid, text in enumerate(texts):
            queries.write(f"q{qid}\t{text}\n")
            for rank in range(6):
                docid = f"d{(qid * 4 + rank) % 30}"
                run.write(f"q{qid} Q0 {docid} {rank + 1} {9 - rank} x\n")
                if rank < 2:
                    qrels.write(f"q{qid} 0 {docid} 1\n")
    return Recipe(
        backbone=str(tiny_backbone),
        corpus=str(tiny_corpus),
        queries=str(folder / "queries.tsv"),
        qrels=str(folder / "qrels.txt"),
        negatives=str(folder / "run.txt"),
        dev_queries=str(folder / "queries.tsv"),
        dev_qrels=str(folder / "qrels.txt"),
        max_length=32,
        k=3,
        batch_size=4,
        micro_batch=4,
        warmup_steps=3,
        steps=8,
        block=8,
        tau=50.0,
        gammas=(0.9,),
        period=2,
        weighting_rate=1e-3,
        expansion_rate=1e-3,
        validate_every=2,
        patience=99,
    )


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


def test_each_encoder_gets_what_the_other_finds_hard(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    trainer = Trainer(replace(recipe, warmup_steps=0), tmp_path / "run")
    block = SampleStream(len(trainer.data.samples), recipe.seed).take(recipe.block)
    hardest = {name: trainer._hardest(name, block, 4) for name in ("weighting", "expansion")}
    trainer._exchange_block()
    assert trainer.queues["weighting"] == hardest["expansion"]
    assert trainer.queues["expansion"] == hardest["weighting"]


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
        rival = trainer._rival(block, number)
        sample = trainer.data.samples[number]
        assert rival not in read_qrels(recipe.qrels or "")[sample.qid]


def test_removed_terms_are_gone_from_the_model(recipe: Recipe, tmp_path: Path) -> None:
    best = train(replace(recipe, gammas=(0.3,), period=1), tmp_path / "run")
    removed = sum(int(line["removed"]) for line in events(tmp_path / "run", "step"))
    model = SpadeModel.from_pretrained(best)
    special = len(model.wordpieces.special_ids)
    assert removed > 0
    assert 0 < int((~model.kept).sum()) - special <= removed


# The step


def gradients(
    model: SpadeModel, documents: list[list[int]], micro_batch: int
) -> tuple[dict[str, float], dict[str, torch.Tensor]]:
    from spade_pyserini.models.spade import padded
    from spade_pyserini.train import losses

    accelerator = Accelerator()
    queries = torch.zeros(4, len(model.kept))
    queries[:, 60:80:3] = 1

    def loss(vectors: torch.Tensor) -> dict[str, torch.Tensor]:
        relevance = losses.scores(queries, vectors)
        return {
            "ranking": losses.ranking_loss(relevance, torch.arange(4)),
            "pointwise": losses.pointwise_loss(queries, vectors[:4]),
        }

    model.zero_grad()
    parameters = list(model.parameters())
    _, parts = backward(
        accelerator,
        lambda ids: sum(model(*padded(ids, torch.device("cpu")))),
        documents,
        loss,
        micro_batch=micro_batch,
        parameters=parameters,
    )
    found = {
        name: parameter.grad.clone()
        for name, parameter in model.named_parameters()
        if parameter.grad is not None
    }
    return parts, found


DOCUMENTS = [[2, number, number + 20, 70 + number, 3] for number in range(10, 18)]


@pytest.mark.parametrize("micro_batch", [1, 3, 5])
def test_the_gradient_does_not_depend_on_accumulation(
    tiny_model: SpadeModel, micro_batch: int
) -> None:
    model = tiny_model.eval()
    parts, whole = gradients(model, DOCUMENTS, 8)
    again, accumulated = gradients(model, DOCUMENTS, micro_batch)
    assert again == pytest.approx(parts, abs=1e-5)
    assert whole.keys() == accumulated.keys()
    for name, gradient in whole.items():
        assert torch.allclose(accumulated[name], gradient, atol=1e-5), name
    assert any(gradient.abs().max() > 1e-3 for gradient in whole.values())


def test_dropout_draws_the_same_in_both_passes(tiny_model_folder: Path) -> None:
    model = SpadeModel.from_pretrained(tiny_model_folder).train()
    torch.manual_seed(5)
    _, first = gradients(model, DOCUMENTS, 4)
    torch.manual_seed(5)
    _, second = gradients(model, DOCUMENTS, 4)
    for name, gradient in first.items():
        assert torch.equal(gradient, second[name])


TWO_PROCESSES = """
import sys, torch
from spade_pyserini import SpadeModel
from tests.test_train import DOCUMENTS, gradients
from safetensors.torch import save_file
from accelerate import PartialState
model = SpadeModel.from_pretrained(sys.argv[1]).eval()
parts, found = gradients(model, DOCUMENTS, int(sys.argv[3]))
state = PartialState()
assert state.num_processes == 2
if state.is_main_process:
    save_file(found, sys.argv[2])
torch.distributed.destroy_process_group()
"""


def test_two_gloo_processes_have_the_gradient_of_one(
    tiny_model_folder: Path, tmp_path: Path
) -> None:
    from safetensors.torch import load_file

    from tests.conftest import ROOT

    script = tmp_path / "two.py"
    script.write_text(TWO_PROCESSES)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc_per_node", "2", str(script), str(tiny_model_folder)]
    command += [str(tmp_path / "g.safetensors"), "3"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ACCELERATE_USE_CPU": "true"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    _, whole = gradients(SpadeModel.from_pretrained(tiny_model_folder).eval(), DOCUMENTS, 8)
    found = load_file(tmp_path / "g.safetensors")
    assert whole.keys() == found.keys()
    for name, gradient in whole.items():
        assert torch.allclose(found[name], gradient, atol=1e-5), name


# Recipes, data, bad input


def test_the_recipes_of_the_package() -> None:
    paper = load_recipe("paper")
    assert paper == Recipe()  # the defaults are the paper's
    for name in ("mini", "smoke"):
        assert load_recipe(name).backbone == "minilm"


def test_settings(tmp_path: Path) -> None:
    changed = load_recipe("smoke").with_settings(["tau=25", "gammas=[]", "corpus=my corpus"])
    assert (changed.tau, changed.gammas, changed.corpus) == (25.0, (), "my corpus")
    for setting in ("tau", "nothing=1", "tau=0", "k=2.5", "strategy=magic", "batch_size=true"):
        with pytest.raises(UsageError):
            changed.with_settings([setting])
    with pytest.raises(NotFoundError, match="known names: mini, paper, smoke"):
        load_recipe("papre")
    (tmp_path / "x.toml").write_text("tau = = 3")
    with pytest.raises(InputError, match="not a TOML file"):
        load_recipe(tmp_path / "x.toml")


def test_the_stream_is_a_permutation_each_epoch_and_resumes() -> None:
    stream = SampleStream(7, seed=1)
    first, second = stream.take(7), stream.take(7)
    assert sorted(first) == sorted(second) == list(range(7))
    assert first != second
    assert SampleStream(7, seed=1, position=5).take(4) == (first + second)[5:9]


def test_samples_from_qrels_and_triples(recipe: Recipe, tmp_path: Path) -> None:
    data = load_training_data(recipe)
    assert len(data.samples) == 12
    assert data.samples[0] == ("q0", "d0", ("d2",))
    (tmp_path / "t.tsv").write_text("q1\td3\td9\n")
    triples = replace(recipe, qrels=None, negatives=None, triples=str(tmp_path / "t.tsv"))
    assert load_training_data(triples).samples == [("q1", "d3", ("d9",))]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("triples", "q1\td3\n", r":1: expected `qid <tab> positive <tab> negative`"),
        ("triples", "q77\td3\td4\n", "no topic has the id 'q77'"),
        ("triples", "q1\td3\tnobody\n", "1 documents of the samples are not in the corpus"),
        ("triples", "", "holds no triple"),
        ("expansions", "d1\t \n", r":1: the expansion of 'd1' is empty"),
        ("expansions", "d1\n", r":1: expected `docid <tab> text`"),
        ("qrels", "q1 0 d1 0\n", "no query has a positive"),
    ],
)
def test_bad_training_data(
    recipe: Recipe, tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / "f.txt").write_text(content)
    changes = {name: str(tmp_path / "f.txt")} | ({"qrels": None} if name == "triples" else {})
    with pytest.raises(InputError, match=message):
        load_training_data(replace(recipe, **changes))  # type: ignore[arg-type]


def test_expansions_are_appended(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "e.tsv").write_text("d0\tsome new words\n")
    data = load_training_data(replace(recipe, expansions=str(tmp_path / "e.tsv")))
    assert data.documents["d0"].endswith(" some new words")


def test_another_recipe_in_the_same_folder(recipe: Recipe, tmp_path: Path) -> None:
    short = replace(recipe, steps=3)
    train(short, tmp_path / "run")
    with pytest.raises(OutputExistsError, match="pass --resume"):
        train(short, tmp_path / "run")
    with pytest.raises(OutputExistsError, match=r"tau 50\.0, now 10\.0"):
        train(replace(short, tau=10.0), tmp_path / "run", resume=True)


def test_nan_stops_and_keeps_the_last_checkpoint(recipe: Recipe, tmp_path: Path) -> None:
    wild = replace(recipe, weighting_rate=1e30, head_rate=1e30, steps=50, validate_every=1)
    with pytest.raises(
        SpadeError, match=r"the loss is .* at step \d+; the last checkpoint is kept"
    ):
        train(wild, tmp_path / "run")


@pytest.mark.java
def test_hard_negatives_are_mined_with_bm25(recipe: Recipe, tmp_path: Path, run: Commands) -> None:
    settings = ("corpus", "queries", "qrels")
    arguments = [part for name in settings for part in ("--set", f"{name}={getattr(recipe, name)}")]
    arguments += ["--recipe", "mini", "--stage", "mine", "--output", str(tmp_path / "mined")]
    assert run("train", *arguments).code == 0
    mined = load_training_data(replace(recipe, negatives=str(tmp_path / "mined/negatives.txt")))
    qrels = read_qrels(recipe.qrels or "")
    assert mined.samples
    for sample in mined.samples:
        assert not set(sample.negatives) & set(qrels[sample.qid])


def test_a_recipe_without_data(run: Commands, tmp_path: Path) -> None:
    result = run("train", "--recipe", "mini", "--output", tmp_path / "x")
    assert result.code == 2
    assert "the recipe names no corpus; add --set corpus=..." in result.err
