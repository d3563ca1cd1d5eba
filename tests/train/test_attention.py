"""Training chooses an implementation of attention by precision, text length and device."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from transformers import PreTrainedModel

from spade_pyserini import SpadeModel
from spade_pyserini.models.tensors import pad_batch
from spade_pyserini.train import Recipe, train
from spade_pyserini.train.attention import choose_attention
from tests.models.helpers import TEXTS


def used(model: SpadeModel) -> set[str]:
    modules = [x for x in model.modules() if isinstance(x, PreTrainedModel)]
    assert len(modules) >= 2
    return {module.config._attn_implementation for module in modules}


@pytest.mark.parametrize(
    ("changes", "device", "expected"),
    [
        ({"precision": "bf16", "max_length": 32}, "cpu", "eager"),
        ({"precision": "bf16", "max_length": 32}, "cuda", "sdpa"),
        ({"precision": "bf16", "max_length": 256}, "cpu", "sdpa"),
        ({"precision": "no", "max_length": 32}, "cpu", "sdpa"),
    ],
)
def test_short_texts_in_bf16_on_a_cpu_are_trained_without_fused_attention(
    tiny_model: SpadeModel, recipe: Recipe, changes: dict[str, object], device: str, expected: str
) -> None:
    model = copy.deepcopy(tiny_model)
    inputs = pad_batch(model.wordpieces.document_ids(TEXTS, 32), torch.device("cpu"))
    with torch.no_grad():
        before = model(*inputs)
    choose_attention(model, recipe.change(**changes), device)
    assert used(model) == {expected}
    with torch.no_grad():
        after = model(*inputs)
    torch.testing.assert_close(after, before)


def test_a_saved_model_is_loaded_with_the_default_attention(recipe: Recipe, tmp_path: Path) -> None:
    best = train(recipe.change(precision="bf16", steps=2, warmup_steps=1), tmp_path / "run")
    assert "eager" not in (best / "config.json").read_text()
    assert used(SpadeModel.from_pretrained(best)) == {"sdpa"}
