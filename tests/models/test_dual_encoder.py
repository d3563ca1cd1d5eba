from __future__ import annotations

from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeConfig, SpadeModel
from spade_pyserini.errors import UsageError
from tests.models.helpers import TEXTS, inputs, weigh


@torch.no_grad()
def test_special_and_removed_terms_never_get_weight(tiny_backbone: Path) -> None:
    model = SpadeModel.from_backbone(tiny_backbone, SpadeConfig(k=50))
    cat = model.wordpieces.terms.index("cat")
    assert weigh(model, ["the cat"])[0, cat] > 0
    model.kept[cat] = False
    for vectors in model(*inputs(model)):
        assert vectors[:, sorted(model.wordpieces.special_ids)].abs().sum() == 0
        assert vectors[:, cat].abs().sum() == 0


@torch.no_grad()
def test_padding_and_order_change_nothing(tiny_model: SpadeModel) -> None:
    together = weigh(tiny_model)
    for row, text in enumerate(TEXTS):
        assert torch.allclose(weigh(tiny_model, [text])[0], together[row], atol=1e-5)
    assert torch.allclose(weigh(tiny_model, TEXTS[::-1]).flip(0), together, atol=1e-5)


def test_other_settings_share_the_weights_and_leave_the_model_alone(
    tiny_model_folder: Path,
) -> None:
    model = SpadeModel.from_pretrained(tiny_model_folder)
    config, before = model.config, weigh(model)
    other = model.with_settings(alpha=0.2, k=1, scale=7.0)
    assert isinstance(other, SpadeModel)
    assert (other.config.alpha, other.config.k, other.config.scale) == (0.2, 1, 7.0)
    assert model.config == config
    assert not torch.equal(weigh(other), before)
    assert torch.equal(weigh(model), before)
    for parameter, shared in zip(model.parameters(), other.parameters(), strict=True):
        assert parameter is shared
    other.kept[model.wordpieces.term_ids["cat"]] = False  # both models share this mask
    assert not torch.equal(weigh(model), before)


def test_settings_that_do_not_fit_the_backbone(tiny_model: SpadeModel) -> None:
    assert tiny_model.with_settings(max_length=64).config.max_length == 64
    with pytest.raises(UsageError, match="reads at most 64 WordPieces"):
        tiny_model.with_settings(max_length=65)


def test_the_fingerprint_depends_on_settings_and_weights(tiny_model_folder: Path) -> None:
    model = SpadeModel.from_pretrained(tiny_model_folder)
    fingerprint = model.fingerprint
    assert model.with_settings(alpha=0.25).fingerprint != fingerprint
    assert SpadeModel.from_pretrained(tiny_model_folder).fingerprint == fingerprint
    with torch.no_grad():
        model.query_weights[0] += 1
    assert model.fingerprint != fingerprint
