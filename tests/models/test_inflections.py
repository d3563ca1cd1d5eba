from __future__ import annotations

import torch

from spade_pyserini.models.inflections import add_forms


def test_a_term_counts_a_share_of_its_heaviest_form() -> None:
    forms = torch.tensor([0, 1, 2, 1, 1, 2])
    vectors = torch.tensor([[3.0, 4.0, 0.0, 0.0, 3.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0, 8.0]])
    expected = torch.tensor([[3.0, 4.0, 0.0, 2.0, 3.0, 0.0], [0.0, 0.0, 4.0, 0.0, 0.0, 8.0]])
    assert torch.equal(add_forms(vectors, forms, 0.5), expected)
    assert torch.equal(add_forms(vectors, torch.zeros(6, dtype=torch.int32), 0.5), vectors)
