"""Extensions of the paper's model: document frequencies of a corpus, inflected forms."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeModel
from spade_pyserini.errors import UsageError
from spade_pyserini.models import SpadeEncoder
from spade_pyserini.models.extensions import corpus_weights, with_corpus_idf, with_forms
from spade_pyserini.models.tensors import sparse
from spade_pyserini.models.term_counts import TermCounts, idf_weights
from tests.models.helpers import weigh

TEXTS = ["the old cat sleeps in the tree", "a red fish"]


def fish_and_dog(model: SpadeModel) -> torch.Tensor:
    """Return a table of forms in which "fish" and "dog" are forms of one word."""
    forms = torch.zeros(len(model.kept), dtype=torch.int32)
    forms[[model.wordpieces.term_ids[term] for term in ("fish", "dog")]] = 1
    return forms


@pytest.fixture
def with_fish_and_dog(tiny_model_folder: Path) -> SpadeModel:
    model = SpadeModel.from_pretrained(tiny_model_folder)
    return with_forms(model, 0.5, fish_and_dog(model))


def test_the_weighting_encoder_adds_forms(with_fish_and_dog: SpadeModel) -> None:
    model = with_fish_and_dog.with_settings(alpha=0.0)
    (vector,) = map(SpadeEncoder(model).named, sparse(weigh(model, TEXTS[1:])))
    assert vector["dog"] == pytest.approx(vector["fish"] / 2)
    assert "dog" in [term.term for term in model.expand(TEXTS[1]).added]
    model.kept[model.wordpieces.term_ids["dog"]] = False
    assert "dog" not in model.encode(TEXTS[1])


def test_explanations_name_the_word_of_a_form(with_fish_and_dog: SpadeModel) -> None:
    model = with_fish_and_dog.with_settings(alpha=0.0)
    origins = {term.term: term.form_of for term in SpadeEncoder(model).explain(TEXTS[1])}
    assert origins == {"a": (), "red": (), "fish": (), "dog": ("fish",)}
    whole = SpadeEncoder(model.with_settings(whole_word_forms=True))
    assert {term.term: term.form_of for term in whole.explain("fishs")} == {"fish": (), "##s": ()}
    assert not any(term.form_of for term in whole.explain("fish dog"))


def test_forms_are_saved_with_the_model(with_fish_and_dog: SpadeModel, tmp_path: Path) -> None:
    with_fish_and_dog.save_pretrained(tmp_path)
    loaded = SpadeModel.from_pretrained(tmp_path)
    assert loaded.encode(TEXTS) == with_fish_and_dog.encode(TEXTS)
    assert loaded.fingerprint == with_fish_and_dog.fingerprint


@pytest.mark.parametrize("pooling", ["max", "first"])
def test_a_piece_of_a_word_has_no_other_forms(tiny_model: SpadeModel, pooling: str) -> None:
    """The tokenizer splits "delete" into "del ##ete", and "cats" into "cat ##s"."""
    ids = tiny_model.wordpieces.term_ids
    forms = torch.zeros(len(tiny_model.kept), dtype=torch.int32)
    forms[[ids["del"], ids["dog"]]] = 1
    forms[[ids["cat"], ids["bird"]]] = 2
    pieces = with_forms(tiny_model, 0.5, forms).with_settings(alpha=0.0, pooling=pooling)
    model = pieces.with_settings(whole_word_forms=True)

    def vectors(model: SpadeModel, *texts: str) -> list[dict[str, float]]:
        return list(map(SpadeEncoder(model).named, sparse(weigh(model, list(texts)))))

    texts = ("delete", "the del", "cats", "delete the del")
    inside, whole, plural, both = vectors(model, *texts)
    assert "dog" not in inside and inside["del"] > 0
    assert whole["dog"] == pytest.approx(whole["del"] / 2)
    assert "bird" not in plural
    today = vectors(pieces, *texts)
    added = ("dog", "dog", "bird", "dog")
    assert all(form in vector for vector, form in zip(today, added, strict=True))
    assert [inside["del"], whole["del"]] == [vector["del"] for vector in today[:2]]
    # The first "del" is a piece of "delete". Only the second is a word and passes on its weight.
    scores = model.weighting.scores(
        model.weighting.backbone(**_inputs(model, texts[3])).last_hidden_state
    )[0]
    position = model.wordpieces.document_ids([texts[3]], 32)[0].index(ids["del"], 2)
    assert both["dog"] == pytest.approx(scores[position].item() / 2)


def _inputs(model: SpadeModel, text: str) -> dict[str, torch.Tensor]:
    input_ids = torch.tensor(model.wordpieces.document_ids([text], 32))
    return {"input_ids": input_ids, "attention_mask": torch.ones_like(input_ids)}


def test_forms_of_words_pass_on_gradients(tiny_model_folder: Path) -> None:
    plain = SpadeModel.from_pretrained(tiny_model_folder)
    ids = plain.wordpieces.term_ids
    forms = torch.zeros(len(plain.kept), dtype=torch.int32)
    forms[[ids["del"], ids["dog"]]] = 1
    model = with_forms(plain, 0.5, forms).with_settings(whole_word_forms=True)
    bias = model.weighting.head.get_parameter("3.bias")
    for text, expected in (("delete", None), ("the del", 0.5)):
        bias.grad = None
        weight = model.weighting_vectors(**_inputs(model, text))[0, ids["dog"]]
        weight.backward()  # type: ignore[no-untyped-call]
        gradient = None if bias.grad is None else float(bias.grad)
        assert (gradient or None) == expected


def test_forms_are_switched_off_in_another_model(with_fish_and_dog: SpadeModel) -> None:
    before = with_fish_and_dog.encode(TEXTS)
    plain = with_forms(with_fish_and_dog, 0.0, None)
    assert plain.forms is None and plain.config.forms == 0.0
    assert plain.encode(TEXTS) != before
    assert with_fish_and_dog.encode(TEXTS) == before  # unchanged
    with pytest.raises(UsageError, match=r"share is 0\.5; give forms"):
        with_forms(plain, 0.5, None)
    with pytest.raises(UsageError, match="forms must be a fraction"):
        with_forms(plain, 2.0, with_fish_and_dog.forms)


def test_document_frequencies_of_the_training_documents(
    tiny_model: SpadeModel, tmp_path: Path
) -> None:
    size = len(tiny_model.kept)
    trained_on = TermCounts(torch.arange(size), size, 600)
    model = with_corpus_idf(tiny_model, 0.5, trained_on)
    assert tiny_model.document_frequency is None and tiny_model.config.corpus_idf == 0
    assert model.document_frequency is not None
    assert torch.equal(model.document_frequency, torch.arange(size) / size)
    corpus = TermCounts(torch.full((size,), 3), 1000, 5000)
    expected = idf_weights(corpus, torch.arange(size) / size, 0.5)
    assert torch.equal(corpus_weights(model, corpus), expected)
    assert not torch.equal(corpus_weights(model, None), expected)
    assert torch.equal(corpus_weights(tiny_model, corpus), torch.ones(size))
    model.save_pretrained(tmp_path)
    loaded = SpadeModel.from_pretrained(tmp_path)
    assert loaded.encode(TEXTS) == model.encode(TEXTS) != tiny_model.encode(TEXTS)
    plain = with_corpus_idf(loaded, 0.0, trained_on)
    assert plain.document_frequency is None
    assert plain.encode(TEXTS) == tiny_model.encode(TEXTS)
