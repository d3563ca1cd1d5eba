"""Inflected forms of English words: WordPieces that Lucene's English stemmer maps to one stem."""

from __future__ import annotations

from collections import defaultdict

import torch
from torch import Tensor

from spade_pyserini.lucene import jvm
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.extensions import with_forms
from spade_pyserini.models.wordpieces import WordPieces

SHORTEST = 3  # minimum letters of a word with forms; shorter terms are abbreviations and stop words


def with_inflections(model: SpadeModel, share: float | None) -> SpadeModel:
    """Return a model that gives the other forms of a word a share of the weight of the word.

    If ``share`` is None, the model is returned unchanged.
    """
    if share is None:
        return model
    forms = model.forms
    if share and forms is None:
        forms = word_forms(model.wordpieces, len(model.kept))
    return with_forms(model, share, forms)


def word_forms(wordpieces: WordPieces, size: int) -> Tensor:
    """Return a number for each term, [size]: equal numbers mark the inflected forms of a word.

    The numbers start from 1. A term without other forms has the number 0.
    The stemmer and the stop words are those of Anserini's BM25. Only complete words of English
    letters have forms. Numbers and WordPieces inside words have no forms.
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
