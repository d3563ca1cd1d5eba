"""Learning weights for the words of query templates."""

from __future__ import annotations

import copy
from pathlib import Path
from statistics import fmean

import pytest
import torch

from spade_pyserini import SpadeModel
from spade_pyserini.errors import UsageError
from spade_pyserini.models.extensions import with_forms
from spade_pyserini.train import (
    Recipe,
    fit_template_weights,
    train,
)
from spade_pyserini.train.beyond.query_templates import TEMPLATES
from spade_pyserini.train.beyond.template_weights import TemplateFactors
from spade_pyserini.train.log import read_log


def test_only_the_words_of_templates_get_new_weights(recipe: Recipe, tmp_path: Path) -> None:
    init = train(recipe.change(saturate=True), tmp_path / "model")
    changed = recipe.change(init=str(init), template_share=0.5)
    best = fit_template_weights(changed, tmp_path / "run")
    old, new = SpadeModel.from_pretrained(init), SpadeModel.from_pretrained(best)
    words = old.wordpieces
    templates = {x for text in TEMPLATES for x in words.query_ids(text.format(""))}
    moved = (old.query_weights != new.query_weights).nonzero().flatten().tolist()
    assert moved and set(moved) <= templates
    assert old.config == new.config
    before, after = (model.weighting.head.get_parameter("1.weight") for model in (old, new))
    assert torch.equal(before, after)
    distances = [line["distance"] for line in read_log(tmp_path / "run", "step")]
    assert fmean(distances[-20:]) < 0.7 * fmean(distances[:5])
    written = (best / "model.safetensors").stat().st_mtime_ns
    assert fit_template_weights(changed, tmp_path / "run", resume=True) == best
    assert (best / "model.safetensors").stat().st_mtime_ns == written  # finished: nothing to do
    with pytest.raises(
        UsageError, match=r"saturate is False, but True in .*, and this stage cannot change it"
    ):
        fit_template_weights(changed.change(saturate=False), tmp_path / "other")
    with pytest.raises(UsageError, match="names no init"):
        fit_template_weights(recipe.change(template_share=0.5), tmp_path / "none")


def test_forms_of_one_word_share_a_weight(tiny_model: SpadeModel) -> None:
    model = copy.deepcopy(tiny_model)
    term_ids = model.wordpieces.term_ids
    forms = torch.zeros(len(model.kept), dtype=torch.int32)
    forms[[term_ids["a"], term_ids["cat"]]] = 1
    words = TemplateFactors(with_forms(model, 0.5, forms))
    with torch.no_grad():
        words.logarithms.copy_(torch.arange(1.0, len(words.logarithms) + 1))
    factors = words()
    assert factors[term_ids["a"]] == factors[term_ids["cat"]] != 1
    assert factors[term_ids["the"]] not in (1, factors[term_ids["a"]])
    assert factors[term_ids["dog"]] == 1
