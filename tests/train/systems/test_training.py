"""Systems are trained and saved in the published layout; interrupted runs are continued."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from spade_pyserini import SpadeModel
from spade_pyserini.errors import UsageError
from spade_pyserini.models.systems.encoder import SystemEncoder
from spade_pyserini.models.systems.loading import load_encoder
from spade_pyserini.models.systems.recognise import recognise
from spade_pyserini.models.tensors import pad_batch
from spade_pyserini.train import Recipe, train
from spade_pyserini.train.log import read_log
from spade_pyserini.train.systems.trainer import SystemTrainer
from tests.models.systems.checkpoints import TEXTS
from tests.train.systems.recipes import NAMES, of_system, trainer


def checkpoint(run: Path) -> bytes:
    return (run / "checkpoint" / "tensors.safetensors").read_bytes()


@pytest.mark.parametrize("rank", [0, 2])
@pytest.mark.parametrize("name", NAMES)
def test_a_saved_model_is_recognised_and_has_the_trained_weights(
    recipe: Recipe, tmp_path: Path, name: str, rank: int
) -> None:
    changes = {"adapter_rank": rank, "dev_queries": "", "dev_qrels": "", "flops": 0.01}
    running = trainer(recipe, name, tmp_path / "run", **changes, validate_every=4)
    before = [x.detach().clone() for x in running.model.parameters() if x.requires_grad]
    running.train()
    after = [x for x in running.model.parameters() if x.requires_grad]
    assert any(not torch.equal(x, y) for x, y in zip(before, after, strict=True))
    best = tmp_path / "run" / "best"
    assert recognise(best) == name
    encoder = load_encoder(best, fold=False)
    assert isinstance(encoder, SystemEncoder) and encoder.config.max_length == 32
    running.model.eval()
    inputs = pad_batch(encoder.wordpieces.document_ids(TEXTS, 32), torch.device("cpu"))
    with torch.no_grad():
        trained, loaded = running.model(*inputs), encoder.model(*inputs)
    assert trained.shape == loaded.shape and loaded.max() > 0
    torch.testing.assert_close(trained, loaded, rtol=1e-4, atol=1e-5)
    assert not list(best.glob("*.bin")) and (best / "model.safetensors").is_file()


@pytest.mark.parametrize("name", NAMES)
def test_an_interrupted_run_ends_with_the_same_weights(
    recipe: Recipe, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = of_system(recipe, name, validate_every=2, dropout=0.1, steps=4)
    best = train(settings, tmp_path / "complete")
    step = SystemTrainer.train_step

    def interrupted(self: SystemTrainer) -> dict[str, float]:
        if self.step == 3:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(SystemTrainer, "train_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(settings, tmp_path / "killed")
    monkeypatch.setattr(SystemTrainer, "train_step", step)
    train(settings, tmp_path / "killed", resume=True)
    assert checkpoint(tmp_path / "killed") == checkpoint(tmp_path / "complete")
    weights = "best/model.safetensors"
    assert (tmp_path / "killed" / weights).read_bytes() == (best / "model.safetensors").read_bytes()
    validations = read_log(tmp_path / "killed", "validation")
    assert [line["step"] for line in validations] == [2, 4]
    assert not (tmp_path / "killed" / "candidate").exists()
    card = (best / "README.md").read_text()
    assert f"A model of the system {name}" in card and "MRR@10" in card


def test_validation_measures_what_a_search_would(recipe: Recipe, tmp_path: Path) -> None:
    """MRR@10 in the log is that of the saved model, encoded one document at a time."""
    best = train(of_system(recipe, "unicoil"), tmp_path / "run")
    running = trainer(recipe, "unicoil", tmp_path / "other")
    (dev,) = running.selection.dev
    encoder = load_encoder(best)
    queries = encoder.queries.encode([topic.text for topic in dev.topics])
    relevance = torch.zeros(len(queries), len(dev.texts))
    for column, text in enumerate(dev.texts):
        ids = [encoder.cut_documents([text])[0].ids]
        (weights,) = encoder.weigh(ids).tolist()
        vector = dict(zip(encoder.columns(ids), weights, strict=True))
        for row, query in enumerate(queries):
            relevance[row, column] = sum(x * vector[term] for term, x in query.items())
    lines = read_log(tmp_path / "run", "validation")
    assert dev.measure(relevance)[0] == pytest.approx(max(line["mrr"] for line in lines))


def test_micro_batches_do_not_change_the_gradient(recipe: Recipe, tmp_path: Path) -> None:
    weights = []
    for number, size in enumerate((3, 64)):
        running = trainer(recipe, "splade", tmp_path / str(number), micro_batch=size, flops=0.1)
        running.train_step()
        weights.append(running.model.masked_lm.state_dict())  # type: ignore[union-attr]
    for name, tensor in weights[0].items():
        torch.testing.assert_close(tensor, weights[1][name], rtol=1e-3, atol=1e-4)


def test_a_system_starts_from_an_encoder_of_spade(
    recipe: Recipe, tiny_model: SpadeModel, tiny_model_folder: Path, tmp_path: Path
) -> None:
    """Before training, SPLADE gives the same logits as the SpaDE encoder that it starts from."""
    running = trainer(recipe, "splade", tmp_path / "run", init=str(tiny_model_folder))
    inputs = pad_batch(tiny_model.wordpieces.document_ids(TEXTS, 32), torch.device("cpu"))
    with torch.no_grad():
        ours = running.model.eval()(*inputs)
        theirs = tiny_model.expansion_vectors(*inputs, top_k=False).log1p()
    kept = tiny_model.kept
    torch.testing.assert_close(ours[:, kept], theirs[:, kept], rtol=1e-4, atol=1e-5)
    other = trainer(recipe, "unicoil", tmp_path / "other", init=str(tiny_model_folder))
    theirs = tiny_model.weighting.backbone.state_dict()["encoder.layer.1.output.dense.weight"]
    ours = other.model.transformer.state_dict()[  # type: ignore[union-attr]
        "encoder.layer.1.output.dense.weight"
    ]
    assert torch.equal(ours, theirs)


def test_a_system_continues_from_its_own_model(recipe: Recipe, tmp_path: Path) -> None:
    best = train(of_system(recipe, "tilde"), tmp_path / "run")
    running = trainer(recipe, "tilde", tmp_path / "next", init=str(best))
    before = load_encoder(best)
    assert isinstance(before, SystemEncoder)
    assert torch.equal(running.model.bias, before.model.bias)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="the system tilde, but the recipe trains unicoil"):
        trainer(recipe, "unicoil", tmp_path / "third", init=str(best))


def test_settings_that_a_system_does_not_have(recipe: Recipe, tmp_path: Path) -> None:
    for changes, message in (
        ({"warmup_steps": 1}, "the system unicoil has no setting optimization.warmup_steps"),
        ({"saturate": True}, "the system unicoil has no setting term_weights"),
        ({"decoder_rank": 2}, "has no setting model.decoder_rank; set model.decoder_rank=0"),
    ):
        with pytest.raises(UsageError, match=message):
            trainer(recipe, "unicoil", tmp_path / "run", **changes)
    with pytest.raises(UsageError, match="deepct compares no scores"):
        trainer(recipe, "deepct", tmp_path / "run", dense_teacher="minilm")
    with pytest.raises(UsageError, match="system must be empty for SpaDE, or one of deepct"):
        recipe.change(system="bert")
    assert not (tmp_path / "run" / "recipe.json").exists()


@pytest.mark.parametrize("name", ["splade", "tilde", "sparterm"])
def test_a_new_head_starts_with_few_terms(recipe: Recipe, tmp_path: Path, name: str) -> None:
    terms = []
    for number in (0, 12):
        running = trainer(recipe, name, tmp_path / str(number), start_terms=number)
        texts = list(running.data.documents.values())
        inputs = pad_batch(running.model.wordpieces.document_ids(texts, 32), torch.device("cpu"))
        with torch.no_grad():
            values = running.model.eval().activations(*inputs)  # type: ignore[operator]
        terms.append((values[:, running.model.kept] > 0).sum(dim=1).float().mean().item())
    assert terms[0] > 30 and 6 < terms[1] < 20
    best = train(of_system(recipe, name, start_terms=12), tmp_path / "run")
    # With a trained head, start_terms changes nothing.
    again, untouched = (
        trainer(recipe, name, tmp_path / f"next{number}", init=str(best), start_terms=number)
        for number in (3, 0)
    )
    for one, two in zip(again.model.parameters(), untouched.model.parameters(), strict=True):
        assert torch.equal(one, two)
    with pytest.raises(UsageError, match="has no setting model"):
        trainer(recipe, "unicoil", tmp_path / "other", start_terms=3)


def loading_report(kind: Any, folder: Path) -> dict[str, Any]:
    """Return the report of the transformers library about missing and unexpected tensors."""
    report: dict[str, Any] = kind.from_pretrained(folder, output_loading_info=True)[1]
    return report


def test_the_layout_is_that_of_transformers(recipe: Recipe, tmp_path: Path) -> None:
    """The transformers library can load the saved models."""
    from transformers import BertForMaskedLM, BertForTokenClassification

    best = train(of_system(recipe, "deepct"), tmp_path / "deepct")
    report = loading_report(BertForTokenClassification, best)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    best = train(of_system(recipe, "splade"), tmp_path / "splade")
    report = loading_report(BertForMaskedLM, best)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    config = json.loads((best / "config.json").read_text())
    assert config["architectures"] == ["BertForMaskedLM"] and "_name_or_path" not in config
