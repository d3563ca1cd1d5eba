from __future__ import annotations

import math

import pytest
import torch

from spade_pyserini import SpadeModel
from spade_pyserini.models import term_counts
from spade_pyserini.models.term_counts import (
    TermCounts,
    count_terms,
    empty_counts,
    idf_weights,
    merge_counts,
    most_frequent,
)

TEXTS = ["the cat the cat", "the dog", "the cat", "a fish"]


@pytest.mark.parametrize("batch", [1, 3, 1000])
def test_documents_with_each_term(
    tiny_model: SpadeModel, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(term_counts, "BATCH", batch)
    words = tiny_model.wordpieces
    counts = count_terms(words, TEXTS, words.vocabulary_size, 32)
    expected = {"the": 3, "cat": 2, "dog": 1, "a": 1, "fish": 1}
    frequent = counts.df.nonzero().flatten().tolist()
    assert {words.terms[term_id]: int(counts.df[term_id]) for term_id in frequent} == expected
    assert (counts.documents, counts.length, counts.mean_length) == (4, 10, 2.5)
    truncated = count_terms(words, TEXTS, words.vocabulary_size, 3)
    assert (truncated.length, int(truncated.df.sum())) == (4, 4)


def test_counts_of_several_collections_add_up(tiny_model: SpadeModel) -> None:
    words, size = tiny_model.wordpieces, tiny_model.wordpieces.vocabulary_size
    parts = [count_terms(words, texts, size, 32) for texts in (TEXTS[:1], TEXTS[1:], [])]
    merged, expected = merge_counts(parts), count_terms(words, TEXTS, size, 32)
    assert torch.equal(merged.df, expected.df)
    assert merged[1:] == expected[1:]
    assert torch.equal(parts[2].df, empty_counts(size).df)


def test_the_most_frequent_terms() -> None:
    df = torch.tensor([0, 3, 1, 0, 2, 1, 1])
    assert most_frequent(df, 2).nonzero().flatten().tolist() == [1, 4]
    assert int(most_frequent(df, 6).sum()) == 5  # terms that do not occur are left out
    assert most_frequent(df, 7).all()


def test_idf_weights_of_a_corpus() -> None:
    usual = torch.tensor([0.5, 0.5, 0.5, 0.001])
    counts = TermCounts(torch.tensor([100_000, 1000, 0]), 100_000, 0)  # counts of three terms only
    weights = idf_weights(counts, usual, 0.5)
    idf = [math.log(100_501 / rest) for rest in (100_250.5, 1250.5, 250.5)]
    expected = torch.tensor(idf).clamp(min=0.05)
    assert torch.allclose(weights[:3] ** 2 * 5, expected, atol=1e-4)
    assert weights[3] > weights[2] > weights[1] > weights[0] > 0
    assert torch.equal(idf_weights(counts, usual, 0.0), torch.ones(4))
