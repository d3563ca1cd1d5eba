from __future__ import annotations

from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeConfig, SpadeModel
from tests.conftest import with_positive_weights
from tests.models.helpers import TEXTS, hidden_states, inputs


@torch.no_grad()
@pytest.mark.parametrize("pooling", ["max", "first"])
def test_weighting_is_equations_4_to_6(tiny_backbone: Path, pooling: str) -> None:
    model = with_positive_weights(
        SpadeModel.from_backbone(tiny_backbone, SpadeConfig(k=3, pooling=pooling))
    )
    input_ids, mask = inputs(model)
    vectors, _ = model(input_ids, mask)
    states = hidden_states(model.weighting.backbone, input_ids, mask)
    parameter = model.weighting.head.get_parameter
    first, first_bias = parameter("1.weight"), parameter("1.bias")
    second, second_bias = parameter("3.weight"), parameter("3.bias")
    for document in range(len(TEXTS)):
        expected = [0.0] * vectors.shape[1]
        seen = set()
        for position in range(int(mask[document].sum())):
            term = int(input_ids[document, position])
            if term in model.wordpieces.special_ids or (pooling == "first" and term in seen):
                continue
            seen.add(term)
            inner = torch.relu(first @ states[document, position] + first_bias)
            score = torch.relu(second[0] @ inner + second_bias[0]).item()
            expected[term] = max(expected[term], score)
        assert torch.allclose(vectors[document], torch.tensor(expected), atol=1e-6)
        assert sum(value > 0 for value in expected) > 0


@torch.no_grad()
def test_poolings_differ_only_for_repeated_terms(tiny_model: SpadeModel) -> None:
    first = tiny_model.with_settings(pooling="first")
    once = inputs(tiny_model, ["the old cat"])
    assert torch.equal(first.weighting_vectors(*once), tiny_model.weighting_vectors(*once))
    twice = inputs(tiny_model, ["the cat the dog the bird eats the fish"])
    assert not torch.equal(first.weighting_vectors(*twice), tiny_model.weighting_vectors(*twice))
