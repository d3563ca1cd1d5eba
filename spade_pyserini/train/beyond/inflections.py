"""Inflected forms of English words: WordPieces that Lucene's English stemmer maps to one stem."""

from __future__ import annotations

from collections import defaultdict

import torch
from torch import Tensor

from spade_pyserini.lucene import jvm
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.extensions import with_forms
from spade_pyserini.models.wordpieces import WordPieces

SHORTEST = 3  # letters of a word; shorter ones are abbreviations and stop words


def with_inflections(model: SpadeModel, share: float | None) -> SpadeModel:
    """Return a model that gives other forms of a word this share of its weight; None: no change."""
    if share is None:
        return model
    forms = model.forms
    if share and forms is None:
        forms = word_forms(model.wordpieces, len(model.kept))
    return with_forms(model, share, forms)


def word_forms(wordpieces: WordPieces, size: int) -> Tensor:
    """The number of the word that each term is a form of, [size]; 0 for terms without other forms.

    Uses the stemmer and the stop words of Anserini's BM25. Only complete words of English letters
    have forms; pieces of words and numbers have none.
    """
    jvm.start()
    analyze = jvm.java_class("io.anserini.analysis.AnalyzerUtils").analyze
    analyzer = jvm.java_class("io.anserini.analysis.DefaultEnglishAnalyzer")
    stemming = analyzer.newStemmingInstance("porter")
    words: dict[str, list[int]] = defaultdict(list)
    for term_id, term in enumerate(wordpieces.terms):
        if term.isascii() and term.isalpha() and len(term) >= SHORTEST:
            stems = analyze(stemming, term)
            if stems.size() == 1:  # a stop word has no stem
                words[stems.get(0)].append(term_id)
    forms = torch.zeros(size, dtype=torch.int32)
    several = (term_ids for term_ids in words.values() if len(term_ids) > 1)
    for number, term_ids in enumerate(several, start=1):
        forms[term_ids] = number
    return forms
