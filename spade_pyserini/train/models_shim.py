"""Temporary: the functions that the models package is about to have."""
from __future__ import annotations
import copy
from dataclasses import replace
from typing import Any
from torch import Tensor
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.term_counts import TermCounts

def with_settings(model: SpadeModel, **changes: Any) -> SpadeModel:
    copied = copy.copy(model)
    copied._buffers = dict(model._buffers)
    copied._parameters = dict(model._parameters)
    copied._modules = dict(model._modules)
    copied.reconfigure(**changes)
    return copied

def corpus_weights(model: SpadeModel, counts: TermCounts | None) -> Tensor:
    return model.weights_for(counts)

def with_corpus_idf(model: SpadeModel, power: float, counts: TermCounts) -> SpadeModel:
    model = with_settings(model)
    model.use_corpus_idf(power, counts)
    return model

def with_forms(model: SpadeModel, share: float, forms: Tensor | None) -> SpadeModel:
    model = with_settings(model)
    model.use_forms(share, forms)
    return model

def merge_adapters(model: SpadeModel) -> SpadeModel:
    copied = copy.deepcopy(model)
    copied.merge_adapters()
    return copied
