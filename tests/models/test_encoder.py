from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeConfig, SpadeModel
from spade_pyserini.errors import ArtifactError, UsageError
from spade_pyserini.models import SpadeEncoder
from spade_pyserini.models.extensions import with_corpus_idf
from spade_pyserini.models.term_counts import TermCounts, count_terms
from tests.conftest import with_positive_weights
from tests.models.helpers import TEXTS


@pytest.fixture
def encoder(tiny_model_folder: Path) -> SpadeEncoder:
    return SpadeEncoder.from_pretrained(tiny_model_folder)


def ids(encoder: SpadeEncoder, texts: list[str] = TEXTS) -> list[list[int]]:
    return encoder.wordpieces.document_ids(texts, 32)


def test_encode_gives_integer_impacts_by_wordpiece(encoder: SpadeEncoder) -> None:
    vectors = encoder.encode([*TEXTS, ""])
    assert len(vectors) == 4
    assert vectors[3] == {}
    terms = set(encoder.wordpieces.terms) - encoder.wordpieces.special_tokens
    for vector in vectors[:3]:
        assert vector and set(vector) <= terms
        assert all(isinstance(impact, int) and 1 <= impact <= 255 for impact in vector.values())
    assert encoder.encode([]) == []


def test_a_single_text_and_batches_give_the_same_impacts(encoder: SpadeEncoder) -> None:
    one_by_one = encoder.encode(TEXTS, batch_size=1)
    assert one_by_one == [encoder.encode(text) for text in TEXTS]


def test_the_model_encodes_as_the_encoder_does(
    encoder: SpadeEncoder, tiny_model_folder: Path
) -> None:
    model = SpadeModel.from_pretrained(tiny_model_folder)
    assert model.encode(TEXTS) == encoder.encode(TEXTS)
    assert model.encode(TEXTS[0]) == encoder.encode(TEXTS[0])
    assert model.expand(TEXTS[0]) == encoder.expand(TEXTS[0])
    assert model.fingerprint == encoder.fingerprint


def test_without_a_scale_the_largest_weight_gets_the_largest_impact(tiny_backbone: Path) -> None:
    model = with_positive_weights(
        SpadeModel.from_backbone(tiny_backbone, SpadeConfig(k=3, max_length=32))
    )
    assert max(impact for vector in model.encode(TEXTS) for impact in vector.values()) == 255


def test_other_settings_give_another_encoder(encoder: SpadeEncoder) -> None:
    before, config = encoder.encode(TEXTS), encoder.config
    other = encoder.with_settings(alpha=0.0, max_length=4)
    assert (other.config.alpha, other.config.max_length) == (0.0, 4)
    assert other.encode(TEXTS) != before
    assert encoder.config == config
    assert encoder.encode(TEXTS) == before
    assert other.model.query_weights is encoder.model.query_weights
    with pytest.raises(UsageError, match="alpha"):
        encoder.with_settings(alpha=2.0)


def test_a_corpus_changes_no_other_encoder(tiny_model: SpadeModel) -> None:
    size = len(tiny_model.kept)
    trained_on = TermCounts(torch.full((size,), 50), 100, 600)
    plain = SpadeEncoder(with_corpus_idf(tiny_model, 0.5, trained_on))
    before = plain.encode(TEXTS[0])
    counts = count_terms(plain.wordpieces, TEXTS[:1] * 5000, size, 32)
    fitted = plain.for_corpus(counts)
    own = set(plain.wordpieces.query_terms(TEXTS[0])) & before.keys()
    after = fitted.encode(TEXTS[0])
    # The terms of the text are in all documents, so their idf is low; other terms are in none.
    assert own and all(after.get(term, 0) < before[term] for term in own)
    assert all(after[term] > before[term] for term in before.keys() - own)
    assert plain.encode(TEXTS[0]) == before
    assert fitted.for_corpus(None).encode(TEXTS[0]) == before
    assert plain.needs_counts and not SpadeEncoder(tiny_model).needs_counts
    assert SpadeEncoder(tiny_model).for_corpus(counts).encode(TEXTS) == tiny_model.encode(TEXTS)


def test_query_weights_are_in_both_components(encoder: SpadeEncoder) -> None:
    before = encoder.components(ids(encoder))
    with torch.no_grad():
        encoder.model.query_weights.fill_(4)
    for vectors, plain in zip(encoder.components(ids(encoder)), before, strict=True):
        assert torch.equal(vectors, 4 * plain)
        assert plain.max() > 0


@pytest.mark.parametrize(("alpha", "idle"), [(0.0, "expansion"), (1.0, "weighting")])
def test_an_encoder_without_effect_is_not_computed(
    encoder: SpadeEncoder, monkeypatch: pytest.MonkeyPatch, alpha: float, idle: str
) -> None:
    encoder = encoder.with_settings(alpha=alpha)
    batch = ids(encoder, ["the old cat sleeps", "a bird", ""])
    expected = encoder.aggregate(*encoder.components(batch))

    def fail(*_: object) -> None:
        raise AssertionError(f"the {idle} encoder was computed")

    monkeypatch.setattr(encoder.model, f"{idle}_vectors", fail)
    assert torch.allclose(encoder.weigh(batch), expected)
    assert expected[:2].any(dim=1).all() and not expected[2].any()


def test_weights_that_are_not_finite_are_reported(encoder: SpadeEncoder) -> None:
    with torch.no_grad():
        encoder.model.query_weights.fill_(float("inf"))
    with pytest.raises(ArtifactError, match="NaN or infinite weights"):
        encoder.encode(TEXTS)


def test_an_encoder_can_be_pickled_for_other_processes(encoder: SpadeEncoder) -> None:
    expected = encoder.encode(TEXTS)  # pickle the encoder after its cached properties are set
    loaded = pickle.loads(pickle.dumps(encoder))  # noqa: S301 - its own bytes
    assert loaded.encode(TEXTS) == expected
    assert loaded.fingerprint == encoder.fingerprint


def test_moving_copies_the_model(encoder: SpadeEncoder) -> None:
    assert encoder.to("cpu") is encoder.cpu() is encoder
    moved = encoder.to(torch.device("cpu", 0))  # another name of the same device
    assert moved is not encoder
    with torch.no_grad():
        moved.model.query_weights.fill_(2)
    assert (encoder.model.query_weights == 1).all()


@pytest.mark.parametrize("device", ["cuda:99", "toaster", "meta"])
def test_a_device_that_cannot_be_used(tiny_model_folder: Path, device: str) -> None:
    with pytest.raises(UsageError, match=f"the device '{device}' cannot be used: "):
        SpadeEncoder.from_pretrained(tiny_model_folder, device=device)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("saturate", [False, True])
def test_explanations_add_up_to_the_impacts(
    encoder: SpadeEncoder, alpha: float, saturate: bool
) -> None:
    encoder = encoder.with_settings(alpha=alpha, saturate=saturate)
    terms = encoder.explain(TEXTS[0])
    assert {term.term: term.impact for term in terms} == encoder.encode(TEXTS[0])
    assert [term.impact for term in terms] == sorted((t.impact for t in terms), reverse=True)
    own = set(encoder.wordpieces.query_terms(TEXTS[0]))
    for term in terms:
        assert term.weighting + term.expansion == pytest.approx(term.impact, abs=0.51)
        assert term.in_document == (term.term in own)
    assert any(term.weighting for term in terms) == (alpha < 1)
    assert any(term.expansion for term in terms) == (alpha > 0)
    assert encoder.explain("") == []


def test_a_copy_of_a_model_is_independent(encoder: SpadeEncoder) -> None:
    copied = SpadeEncoder(copy.deepcopy(encoder.model))
    with torch.no_grad():
        copied.model.query_weights.fill_(3)
    assert copied.encode(TEXTS) != encoder.encode(TEXTS)
