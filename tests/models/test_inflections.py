from __future__ import annotations

import torch

from spade_pyserini.models.inflections import add_forms, is_whole_word


def test_a_term_counts_a_share_of_its_heaviest_form() -> None:
    forms = torch.tensor([0, 1, 2, 1, 1, 2])
    vectors = torch.tensor([[3.0, 4.0, 0.0, 0.0, 3.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0, 8.0]])
    expected = torch.tensor([[3.0, 4.0, 0.0, 2.0, 3.0, 0.0], [0.0, 0.0, 4.0, 0.0, 0.0, 8.0]])
    assert torch.equal(add_forms(vectors, forms, 0.5), expected)
    assert torch.equal(add_forms(vectors, torch.zeros(6, dtype=torch.int32), 0.5), vectors)


def test_only_the_given_weights_are_passed_on() -> None:
    forms = torch.tensor([1, 1, 0])
    vectors = torch.tensor([[4.0, 0.0, 3.0], [4.0, 1.0, 3.0]])
    sources = torch.tensor([[0.0, 0.0, 3.0], [2.5, 0.0, 3.0]])
    expected = torch.tensor([[4.0, 0.0, 3.0], [4.0, 1.25, 3.0]])
    assert torch.equal(add_forms(vectors, forms, 0.5, sources), expected)


def test_pieces_of_a_word_are_no_words() -> None:
    continues = torch.tensor([False, False, True])  # "##x" has the id 2
    input_ids = torch.tensor([[0, 1, 2, 2, 1, 0], [1, 1, 0, 0, 0, 2]])
    expected = [[True, False, False, False, True, True], [True, True, True, True, False, False]]
    assert is_whole_word(input_ids, continues).tolist() == expected
