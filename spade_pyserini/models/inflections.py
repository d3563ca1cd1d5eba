"""The other forms of a document's words.

A query for "algorithms" should find "algorithm". BM25 has a stemmer for that; here a query is its
WordPieces and nothing else, so it is the document that gets the other forms of the words it has.
"""

from __future__ import annotations

from torch import Tensor


def with_forms(vectors: Tensor, forms: Tensor, share: float) -> Tensor:
    """Every term counts at least ``share`` of what the heaviest form of the same word counts.

    vectors [batch, |V|]; forms [|V|]: the number of the word that a term is a form of, from 1 on,
    0 for a term that has no other form. Returns [batch, |V|].
    """
    terms = forms.nonzero().squeeze(1)
    words = forms[terms].long().expand(len(vectors), -1)
    found = vectors[:, terms]
    heaviest = vectors.new_zeros(len(vectors), int(forms.max()) + 1)
    heaviest = heaviest.scatter_reduce(1, words, found, reduce="amax")
    return vectors.index_copy(1, terms, found.maximum(share * heaviest.gather(1, words)))
