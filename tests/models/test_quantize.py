from __future__ import annotations

import torch

from spade_pyserini.models.quantize import calibrate, quantize


def test_quantization_is_linear_rounded_and_cut_off() -> None:
    weights = torch.tensor([0.0, 0.04, 0.05001, 1.0, 30.0])
    assert quantize(weights, 10.0, 8).tolist() == [0, 0, 1, 10, 255]
    assert quantize(weights, 10.0, 4).tolist() == [0, 0, 1, 10, 15]


def test_calibration_maps_the_largest_weight_to_the_largest_impact() -> None:
    assert quantize(torch.tensor([3.0]), calibrate(3.0, 8), 8).tolist() == [255]
    assert calibrate(0.0, 8) == 1.0
