"""The vectors of TILDE and SparTerm, compared with their equations computed in plain loops."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from spade_pyserini.errors import ArtifactError, InputError
from spade_pyserini.models.backbone import load_backbone
from spade_pyserini.models.systems.encoder import SystemEncoder
from spade_pyserini.models.systems.loading import load_encoder
from spade_pyserini.models.systems.saving import save_system
from spade_pyserini.models.systems.sparterm import LARGEST, SparTerm
from spade_pyserini.models.systems.tilde import LEAST, Tilde
from spade_pyserini.models.tensors import pad_batch
from tests.models.systems.checkpoints import TEXTS, config_of, save


def random_head(system: Tilde | SparTerm, seed: int) -> None:
    """Give the output layer a random bias, so that logits differ."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        system.bias.copy_(torch.randn(system.bias.shape, generator=generator))


@pytest.fixture
def tilde(tiny_backbone: Path, tmp_path: Path) -> Path:
    """A TILDE checkpoint saved by the transformers library, as the published one was."""
    from transformers import BertLMHeadModel

    torch.manual_seed(5)
    model = BertLMHeadModel(config_of(tiny_backbone))  # type: ignore[no-untyped-call]
    with torch.no_grad():
        model.cls.predictions.bias.normal_(mean=-3)
    return save(model, tiny_backbone, tmp_path / "tilde")


@torch.no_grad()
def test_tilde(tilde: Path) -> None:
    from transformers import BertLMHeadModel

    encoder = load_encoder(tilde)
    assert encoder.system == "tilde" and encoder.queries.side.kind == "boolean"
    theirs = BertLMHeadModel.from_pretrained(tilde)
    theirs.train(False)
    for text in TEXTS:
        (ids,) = encoder.wordpieces.document_ids([text], 32)
        (vector,) = encoder.weigh([ids]).tolist()
        logits = theirs(torch.tensor([ids])).logits[0, 0].tolist()
        for term, logit in enumerate(logits):
            likelihood = 1 / (1 + math.exp(-logit))
            expected = max(0.0, math.log(likelihood) - math.log(LEAST))
            if term in encoder.wordpieces.special_ids:
                expected = 0.0
            assert vector[term] == pytest.approx(expected, abs=1e-4)


@torch.no_grad()
def test_tilde_predicts_the_likeliest_new_words(tilde: Path) -> None:
    encoder = load_encoder(tilde)
    assert isinstance(encoder, SystemEncoder) and isinstance(encoder.model, Tilde)
    system, wordpieces = encoder.model, encoder.wordpieces
    ids = wordpieces.document_ids(TEXTS, 32)
    logits = system.logits(*pad_batch(ids, torch.device("cpu"))).tolist()
    for own, row, predicted in zip(ids, logits, system.predict(TEXTS, 9, 32), strict=True):
        words = [x for x in wordpieces.terms if not x.startswith(("##", "["))]
        best = sorted(words, key=lambda x: -row[wordpieces.term_ids[x]])[:9]
        assert predicted == [x for x in best if wordpieces.term_ids[x] not in own]


@torch.no_grad()
def test_sparterm(tiny_backbone: Path, tmp_path: Path) -> None:
    torch.manual_seed(6)
    system = SparTerm.from_backbone(load_backbone(tiny_backbone))
    random_head(system, 1)
    with torch.no_grad():
        system.gate.bias.copy_(torch.linspace(-30, 10, len(system.kept)))
        system.factor.fill_(0.25)
    save_system(system, tmp_path / "model", 40)
    encoder = load_encoder(tmp_path / "model")
    assert isinstance(encoder, SystemEncoder)
    assert (encoder.system, encoder.config.max_length) == ("sparterm", 40)
    special, closed = encoder.wordpieces.special_ids, 0
    for text in TEXTS:
        (ids,) = encoder.wordpieces.document_ids([text], 40)
        inputs = pad_batch([ids], torch.device("cpu"))
        (vector,) = encoder.weigh([ids]).tolist()
        (states,), (gates,) = system.hidden(*inputs), system.gate.hidden(*inputs)
        for term in range(len(vector)):
            expected, opened = 0.0, term in ids
            for state, gate in zip(states, gates, strict=True):
                expected += max(0.0, (state @ system.decoder[term] + system.bias[term]).item())
                logit = gate @ system.gate.decoder[term] + system.gate.bias[term]
                opened |= logit.item() > 0
            closed += not opened
            wanted = 0.25 * expected if opened and term not in special else 0.0
            assert vector[term] == pytest.approx(wanted, rel=1e-4, abs=1e-4)
    assert 0 < closed < len(TEXTS) * len(vector)


@torch.no_grad()
def test_a_new_head_of_sparterm_has_small_weights(tiny_backbone: Path) -> None:
    system = SparTerm.from_backbone(load_backbone(tiny_backbone)).eval()
    random_head(system, 1)
    system.drop(system.left_out)
    inputs = pad_batch(system.wordpieces.document_ids(TEXTS, 32), torch.device("cpu"))
    before, weights = system(*inputs), [x.clone() for x in system.parameters()]
    system.normalise(*inputs)
    after = system(*inputs)
    # Parameters stay as they are: if they were tiny, Adam's first steps would be too large.
    assert all(map(torch.equal, weights, system.parameters()))
    assert after.amax(dim=1).mean().item() == pytest.approx(LARGEST, rel=1e-4)
    ratio = LARGEST / before.amax(dim=1).mean()
    torch.testing.assert_close(after, before * ratio, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("vocab_size", 10**9), ("num_hidden_layers", 10**6), ("hidden_size", "x")],
)
def test_sizes_that_do_not_fit_the_weights(
    tiny_backbone: Path, tmp_path: Path, setting: str, value: object
) -> None:
    """A config.json with other sizes is refused before memory is allocated."""
    save_system(SparTerm.from_backbone(load_backbone(tiny_backbone)), tmp_path / "model", 40)
    path = tmp_path / "model" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), setting: value}))
    with pytest.raises(InputError, match="num_hidden_layers does not fit the weights"):
        load_encoder(tmp_path / "model")


def test_missing_tensors(tiny_backbone: Path, tmp_path: Path) -> None:
    save_system(SparTerm.from_backbone(load_backbone(tiny_backbone)), tmp_path / "model", 40)
    path = tmp_path / "model" / "model.safetensors"
    tensors = {x: y for x, y in load_file(path).items() if x != "gate.cls.predictions.bias"}
    save_file(tensors, path)
    with pytest.raises(ArtifactError, match=r"lack 1 tensors \(gate\.cls\.predictions\.bias\)"):
        load_encoder(tmp_path / "model")


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), "x", True, 10**400])
def test_importance_scales_that_are_not_positive_numbers(
    tiny_backbone: Path, tmp_path: Path, value: object
) -> None:
    save_system(SparTerm.from_backbone(load_backbone(tiny_backbone)), tmp_path / "model", 40)
    path = tmp_path / "model" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "importance_scale": value}))
    with pytest.raises(InputError, match=r"config\.json: importance_scale must be a positive"):
        load_encoder(tmp_path / "model")
