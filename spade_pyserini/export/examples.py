"""Example queries for an export: terms of a document, with their weights in queries."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from spade_pyserini.formats.query_side import TABLE, load_weights
from spade_pyserini.index.opening import locate, open_postings

EXAMPLE_TERMS = 2
EXAMPLE = "your query"


def query_weights(index: Path) -> Mapping[str, int] | None:
    """Return the table of query term weights of an index, or None if it has no table."""
    side = locate(index, foreign=True).manifest.query
    return load_weights(index, side) if side.kind == TABLE else None


def strongest_terms(
    impacts: Mapping[str, int],
    weights: Mapping[str, int] | None = None,
    accept: Callable[[str], object] = bool,
) -> dict[str, int]:
    """Return the two terms that add most to a document's score, with their weights in queries.

    impacts: the impacts of the document. weights: the table of query term weights; if it is None,
    all terms have the weight 1. accept: a function that returns whether a term may be used.
    """
    own = {
        term: 1 if weights is None else weights[term]
        for term in impacts
        if accept(term) and (weights is None or term in weights)
    }
    ranked = sorted(own, key=lambda term: (-own[term] * impacts[term], term))
    return {term: own[term] for term in ranked[:EXAMPLE_TERMS]}


def example_weights(index: Path) -> dict[str, int]:
    """Return words of a document with their weights in queries: an example query that has hits.

    The result is empty if no document has a suitable word.
    """
    weights = query_weights(index)
    is_word = re.compile(r"[a-z]{3,}").fullmatch
    with open_postings(index) as postings:
        for _, impacts in postings.all_vectors(1):
            if terms := strongest_terms(impacts, weights, is_word):
                return terms
    return {}


def example_query(index: Path) -> str:
    """Return the words of `example_weights` as a text, or `EXAMPLE` if there are none."""
    return " ".join(example_weights(index)) or EXAMPLE
