"""Which WordPieces are forms of one word: those that Lucene's English stemmer makes the same."""

from __future__ import annotations

from collections import defaultdict

import torch
from torch import Tensor

from spade_pyserini.lucene import jvm
from spade_pyserini.models.wordpieces import WordPieces

SHORTEST = 3  # letters of a word that is stemmed: shorter ones are abbreviations and stop words


def word_forms(wordpieces: WordPieces, size: int) -> Tensor:
    """For `with_forms`, [size]: the stemmer and its stop words are those that BM25 is searched by.

    Only whole words of English letters have forms: no pieces of words, no numbers.
    """
    jvm.start()
    analyze = jvm.java_class("io.anserini.analysis.AnalyzerUtils").analyze
    analyzer = jvm.java_class("io.anserini.analysis.DefaultEnglishAnalyzer")
    stemming = analyzer.newStemmingInstance("porter")
    words: dict[str, list[int]] = defaultdict(list)
    for place, term in enumerate(wordpieces.terms):
        if term.isascii() and term.isalpha() and len(term) >= SHORTEST:
            stems = analyze(stemming, term)
            if stems.size() == 1:  # none is left of a stop word
                words[stems.get(0)].append(place)
    forms = torch.zeros(size, dtype=torch.int32)
    several = (places for places in words.values() if len(places) > 1)
    for number, places in enumerate(several, start=1):
        forms[places] = number
    return forms
