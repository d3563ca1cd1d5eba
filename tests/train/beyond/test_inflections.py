"""Inflected forms in training."""

from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini import SpadeModel
from spade_pyserini.models.wordpieces import PRETRAINED, WordPieces
from spade_pyserini.train import Recipe, train
from spade_pyserini.train.beyond.inflections import word_forms


@pytest.mark.java
def test_forms_are_complete_words_with_the_same_stem() -> None:
    words = WordPieces.load(PRETRAINED / "spade-mini")
    forms = word_forms(words, words.vocabulary_size + 2)
    number = dict(zip(words.terms, forms.tolist(), strict=False))
    assert number["algorithm"] == number["algorithms"] > 0
    assert number["algorithm"] != number["river"]
    assert not any(number[term] for term in ("the", "##ing", "1998", "[MASK]", "us"))
    assert forms[-2:].tolist() == [0, 0]  # rows that only pad the embedding matrix


@pytest.mark.java
def test_training_sets_forms_or_keeps_those_of_the_model(recipe: Recipe, tmp_path: Path) -> None:
    first = train(recipe.change(forms=0.5), tmp_path / "first")
    second = SpadeModel.from_pretrained(train(recipe.change(init=str(first)), tmp_path / "second"))
    assert second.config.forms == 0.5 and second.forms is not None
    plain = recipe.change(init=str(first), forms=0.0)
    third = SpadeModel.from_pretrained(train(plain, tmp_path / "third"))
    assert third.config.forms == 0.0 and third.forms is None
