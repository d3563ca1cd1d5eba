from __future__ import annotations

import pytest
import torch

from spade_pyserini import SpadeModel
from spade_pyserini.models.aggregation import mix
from tests.models.helpers import weigh

WEIGHTING, EXPANSION = torch.tensor([[2.0, 0.0]]), torch.tensor([[0.0, 4.0]])


@pytest.mark.parametrize(
    ("alpha", "expected"), [(0.0, [2.0, 0.0]), (0.25, [1.5, 1.0]), (1.0, [0.0, 4.0])]
)
def test_aggregation_is_equation_10(alpha: float, expected: list[float]) -> None:
    assert mix(WEIGHTING, EXPANSION, alpha).tolist() == [expected]
    saturated = mix(WEIGHTING, EXPANSION, alpha, saturate=True)
    assert torch.allclose(saturated, torch.tensor([expected]).log1p())


def test_a_model_aggregates_with_its_alpha(tiny_model: SpadeModel) -> None:
    assert tiny_model.config.alpha == 0.5
    assert tiny_model.aggregate(WEIGHTING, EXPANSION).tolist() == [[1.0, 2.0]]
    other = tiny_model.with_settings(alpha=0.25)
    assert other.aggregate(WEIGHTING, EXPANSION).tolist() == [[1.5, 1.0]]


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_saturated_weights_are_logarithms(tiny_model: SpadeModel, alpha: float) -> None:
    plain = weigh(tiny_model.with_settings(alpha=alpha))
    assert plain.max() > 0.5
    saturated = weigh(tiny_model.with_settings(alpha=alpha, saturate=True))
    assert torch.allclose(saturated, torch.log1p(plain))
