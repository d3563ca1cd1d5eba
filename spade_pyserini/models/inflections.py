"""Add the other inflected forms of a document's words to its vector.

A query for "algorithms" should match "algorithm". BM25 has a stemmer for that. Here a query is
only tokenized, so the document vector gets the other forms of its words instead.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def add_forms(
    vectors: Tensor, forms: Tensor, share: float, sources: Tensor | None = None
) -> Tensor:
    """Raise each weight to at least ``share`` times the largest weight of any form of the word.

    vectors [batch, |V|]; forms [|V|]: the number of each term's word, from 1 up and equal for
    all forms of a word, or 0 for a term without other forms; sources [batch, |V|]: the weights that
    are passed on to the other forms, by default ``vectors``. Returns [batch, |V|].
    """
    terms = forms.nonzero().squeeze(1)
    words = forms[terms].long().expand(len(vectors), -1)
    weights = vectors[:, terms]
    largest = vectors.new_zeros(len(vectors), int(forms.max()) + 1)
    passed_on = weights if sources is None else sources[:, terms]
    largest = largest.scatter_reduce(1, words, passed_on, reduce="amax")
    return vectors.index_copy(1, terms, weights.maximum(share * largest.gather(1, words)))


def words_with_forms(ids: list[int], forms: Tensor, whole_in: Tensor | None) -> dict[int, set[int]]:
    """Return the terms of a document that pass weight on to other forms, by the word's number.

    ids: the document; forms [|V|]: see `add_forms`; whole_in [|V|]: True for the WordPieces inside
    words, if only complete words pass on weight, otherwise None.
    """
    tokens = torch.tensor([ids], dtype=torch.long, device=forms.device)
    if whole_in is not None:
        tokens = tokens[is_whole_word(tokens, whole_in)]
    words: dict[int, set[int]] = {}
    for term in tokens.flatten().tolist():
        if number := int(forms[term]):
            words.setdefault(number, set()).add(term)
    return words


def is_whole_word(input_ids: Tensor, continues: Tensor) -> Tensor:
    """Return a mask [batch, length] that is True for the tokens that are a complete word.

    input_ids [batch, length]; continues [|V|]: True for the WordPieces inside words ("##ing"). A
    token is not a complete word if the next token continues the word. If a document was cut off
    inside a word, the first WordPiece of that word can count as a complete word.
    """
    inside = continues[input_ids]
    continued = functional.pad(inside[:, 1:], (0, 1))
    return ~inside & ~continued
