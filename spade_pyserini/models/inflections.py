"""Add the other inflected forms of a document's words to its vector.

A query for "algorithms" should match "algorithm". BM25 has a stemmer for that. Here a query is
only tokenized, so the document vector gets the other forms of its words instead.
"""

from __future__ import annotations

from torch import Tensor


def add_forms(vectors: Tensor, forms: Tensor, share: float) -> Tensor:
    """Raise each weight to at least ``share`` times the largest weight of any form of the word.

    vectors [batch, |V|]; forms [|V|]: the number of each term's word, from 1 up and equal for
    all forms of a word, or 0 for a term without other forms. Returns [batch, |V|].
    """
    terms = forms.nonzero().squeeze(1)
    words = forms[terms].long().expand(len(vectors), -1)
    weights = vectors[:, terms]
    largest = vectors.new_zeros(len(vectors), int(forms.max()) + 1)
    largest = largest.scatter_reduce(1, words, weights, reduce="amax")
    return vectors.index_copy(1, terms, weights.maximum(share * largest.gather(1, words)))
