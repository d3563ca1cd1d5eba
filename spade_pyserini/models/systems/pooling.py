"""Pool the weights of tokens into weights of terms."""

from __future__ import annotations

from collections.abc import Sequence

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
    weights: Tensor, documents: list[list[Word]], words: Sequence[str], first: bool
) -> Tensor:
    """Pool the weights of tokens by word, [batch, length] to [batch, words].

    An occurrence of a word has the weight of its first WordPiece. With ``first``, a word has the
    weight of its first occurrence. Without it, a word has the largest weight of its occurrences.
    Words that are not in ``words`` are left out.
    """
    columns = {word: column for column, word in enumerate(words)}
    places = [  # row, position of the first WordPiece, column
        (row, word.start, columns[word.text])
        for row, document in enumerate(documents)
        for word in (_first_occurrences(document) if first else document)
        if word.text in columns
    ]
    indices = torch.tensor(places, dtype=torch.long, device=weights.device).view(-1, 3)
    rows, starts, targets = indices.unbind(dim=1)
    vectors = weights.new_zeros(len(documents) * len(words))
    own = weights[rows, starts]
    pooled = vectors.scatter_reduce(0, rows * len(words) + targets, own, reduce="amax")
    return pooled.view(len(documents), len(words))


def _first_occurrences(document: list[Word]) -> list[Word]:
    return list({word.text: word for word in reversed(document)}.values())
