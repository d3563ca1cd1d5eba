"""From the weights of tokens to the weights of terms."""

from __future__ import annotations

import torch
from torch import Tensor

from spade_pyserini.models.wordpieces import Word, WordPieces


def pool_by_term(
    weights: Tensor, input_ids: Tensor, counted: Tensor, size: int, reduce: str = "amax"
) -> Tensor:
    """Pool the weights of equal tokens, [batch, length] to [batch, size].

    counted [batch, length]: True for the tokens to pool. ``reduce`` is ``amax`` or ``sum``. Weights
    must not be negative.
    """
    vectors = weights.new_zeros(len(weights), size)
    return vectors.scatter_reduce(1, input_ids, weights * counted, reduce=reduce)


def distinct_words(wordpieces: WordPieces, batch: list[list[int]]) -> list[str]:
    """Return the words of all documents of a batch, each once, in alphabetical order."""
    return sorted({word.text for ids in batch for word in wordpieces.words_of(ids)})


def pool_by_word(
    weights: Tensor, documents: list[list[Word]], words: list[str], first: bool
) -> Tensor:
    """Pool the weights of the first WordPieces of words, [batch, length] to [batch, words].

    ``first``: only the first occurrence of a word counts; otherwise the maximum over all of them.
    """
    columns = {word: column for column, word in enumerate(words)}
    vectors = weights.new_zeros(len(documents), len(words))
    for row, document in enumerate(documents):
        counted = _first_occurrences(document) if first else document
        targets = torch.tensor([columns[word.text] for word in counted], dtype=torch.long)
        starts = torch.tensor([word.start for word in counted], dtype=torch.long)
        own = weights[row, starts.to(weights.device)]
        vectors[row] = vectors[row].scatter_reduce(0, targets.to(own.device), own, reduce="amax")
    return vectors


def _first_occurrences(document: list[Word]) -> list[Word]:
    return list({word.text: word for word in reversed(document)}.values())
