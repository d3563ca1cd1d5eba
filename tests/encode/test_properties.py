"""Property-based tests of encoded documents and of quantized weights."""

from __future__ import annotations

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spade_pyserini import SpadeModel
from spade_pyserini.models import SpadeEncoder
from spade_pyserini.models.quantize import quantize
from tests.conftest import WORDS

words = st.sampled_from([word for word in WORDS if not word.startswith("##")])
text = st.lists(words, min_size=1, max_size=12).map(" ".join)
batch = st.lists(text, min_size=1, max_size=5)
few = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@few
@given(texts=batch, chance=st.randoms(use_true_random=False))
def test_permuting_a_batch_permutes_its_vectors(
    tiny_model: SpadeModel, texts: list[str], chance: st.DataObject
) -> None:
    ids = tiny_model.wordpieces.document_ids(texts, 32)
    order = list(range(len(ids)))
    chance.shuffle(order)  # type: ignore[attr-defined]
    encoder = SpadeEncoder(tiny_model)
    vectors = encoder.weigh(ids)
    shuffled = encoder.weigh([ids[index] for index in order])
    assert torch.allclose(shuffled, vectors[order], atol=1e-5)


@few
@given(texts=batch)
def test_padding_changes_nothing(tiny_model: SpadeModel, texts: list[str]) -> None:
    ids = tiny_model.wordpieces.document_ids(texts, 32)
    longest = tiny_model.wordpieces.document_ids(["the old cat " * 9], 32)[0]
    encoder = SpadeEncoder(tiny_model)
    padded = encoder.weigh([*ids, longest])[:-1]
    assert torch.allclose(padded, encoder.weigh(ids), atol=1e-5)


@few
@given(texts=batch, k=st.integers(1, 6))
def test_at_most_k_terms_a_token_and_never_a_special_one(
    tiny_model: SpadeModel, texts: list[str], k: int
) -> None:
    model = tiny_model.with_settings(k=k)
    for ids in model.wordpieces.document_ids(texts, 32):
        inputs = torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.long)
        with torch.no_grad():
            weighting, expansion = model(*inputs)
        assert int((expansion > 0).sum()) <= k * len(ids)
        special = sorted(model.wordpieces.special_ids)
        assert not weighting[:, special].any()
        assert not expansion[:, special].any()
        assert set(weighting[0].nonzero().squeeze(1).tolist()) <= set(ids)


@few
@given(texts=batch, removed=st.sets(st.sampled_from(WORDS), max_size=8))
def test_a_removed_term_is_in_no_encoded_document(
    tiny_model: SpadeModel, texts: list[str], removed: set[str]
) -> None:
    kept = tiny_model.kept.clone()
    terms = tiny_model.wordpieces.terms
    tiny_model.kept[[terms.index(term) for term in removed]] = False
    for vector in tiny_model.encode(texts):
        assert not removed & vector.keys()
    tiny_model.kept.copy_(kept)


@given(
    weights=st.lists(st.floats(0, 100, width=32), min_size=1, max_size=50),
    scale=st.floats(0.01, 1000),
    bits=st.integers(1, 16),
)
def test_impacts_are_monotone_in_weights(weights: list[float], scale: float, bits: int) -> None:
    impacts = quantize(torch.tensor(sorted(weights)), scale, bits).tolist()
    assert impacts == sorted(impacts)
    assert all(0 <= impact < 2**bits for impact in impacts)
