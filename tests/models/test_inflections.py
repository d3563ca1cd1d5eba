"""Documents that have the other forms of their words, too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeModel
from spade_pyserini.errors import UsageError
from spade_pyserini.models.inflections import with_forms
from spade_pyserini.models.wordpieces import PRETRAINED, WordPieces
from spade_pyserini.train import train
from spade_pyserini.train.beyond.inflections import word_forms
from spade_pyserini.train.recipe import Recipe

TEXTS = ["the old cat sleeps in the tree", "a red fish"]


def test_a_term_counts_a_share_of_its_heaviest_form() -> None:
    forms = torch.tensor([0, 1, 2, 1, 1, 2])
    vectors = torch.tensor([[3.0, 4.0, 0.0, 0.0, 3.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0, 8.0]])
    wanted = torch.tensor([[3.0, 4.0, 0.0, 2.0, 3.0, 0.0], [0.0, 0.0, 4.0, 0.0, 0.0, 8.0]])
    assert torch.equal(with_forms(vectors, forms, 0.5), wanted)
    assert torch.equal(with_forms(vectors, torch.zeros(6, dtype=torch.int32), 0.5), vectors)


@pytest.mark.java
def test_forms_are_whole_words_of_one_stem() -> None:
    words = WordPieces.load(PRETRAINED / "spade-mini")
    forms = word_forms(words, words.vocabulary_size + 2)
    number = dict(zip(words.terms, forms.tolist(), strict=False))
    assert number["algorithm"] == number["algorithms"] > 0
    assert number["algorithm"] != number["river"]
    assert not any(number[term] for term in ("the", "##ing", "1998", "[MASK]", "us"))
    assert forms[-2:].tolist() == [0, 0]  # rows that only round the matrix up


@pytest.fixture
def model(tiny_model_folder: Path) -> SpadeModel:
    """For which dogs are forms of fish."""
    model = SpadeModel.from_pretrained(tiny_model_folder)
    forms = torch.zeros(len(model.kept), dtype=torch.int32)
    forms[[model.wordpieces.terms.index(term) for term in ("fish", "dog")]] = 1
    model.use_forms(0.5, forms)
    return model


def test_the_weighting_encoder_gives_them(model: SpadeModel) -> None:
    model.reconfigure(alpha=0.0)
    (vector,) = model.by_term(model.weigh(model.wordpieces.document_ids(TEXTS[1:], 32)))
    assert vector["dog"] == pytest.approx(vector["fish"] / 2)
    assert ("dog", False) in [(one.term, one.in_document) for one in model.expand(TEXTS[1]).added]
    model.kept[model.wordpieces.terms.index("dog")] = False
    assert "dog" not in model.encode(TEXTS[1:])[0]


def test_they_are_saved_with_the_model(model: SpadeModel, tmp_path: Path) -> None:
    model.save_pretrained(tmp_path)
    loaded = SpadeModel.from_pretrained(tmp_path)
    assert loaded.encode(TEXTS) == model.encode(TEXTS)
    assert loaded.fingerprint == model.fingerprint
    loaded.use_forms(0.0, None)
    assert loaded.encode(TEXTS) != model.encode(TEXTS)
    with pytest.raises(UsageError, match="which terms are forms"):
        loaded.use_forms(0.5, None)
    with pytest.raises(UsageError, match="forms is a share"):
        loaded.use_forms(2.0, model.forms)


@pytest.mark.java
def test_training_sets_them_or_leaves_them_as_they_are(recipe: Recipe, tmp_path: Path) -> None:
    first = train(replace(recipe, forms=0.5), tmp_path / "first")
    second = SpadeModel.from_pretrained(
        train(replace(recipe, init=str(first)), tmp_path / "second")
    )
    assert second.config.forms == 0.5 and second.forms is not None
    plain = replace(recipe, init=str(first), forms=0.0)
    third = SpadeModel.from_pretrained(train(plain, tmp_path / "third"))
    assert third.config.forms == 0.0 and third.forms is None
