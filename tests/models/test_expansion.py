from __future__ import annotations

from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeConfig, SpadeModel
from spade_pyserini.models import SpadeEncoder, logits
from spade_pyserini.models.expansion import Output
from tests.conftest import with_positive_weights
from tests.models.helpers import (
    TEXTS,
    components,
    embeddings,
    hidden_states,
    inputs,
    weigh,
)


@torch.no_grad()
@pytest.mark.parametrize("block", [7, 4096])
def test_expansion_is_equations_7_to_9(
    tiny_model: SpadeModel, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logits, "BLOCK", block)
    input_ids, mask = inputs(tiny_model)
    _, vectors = tiny_model(input_ids, mask)
    encoder = tiny_model.expansion
    states = hidden_states(encoder.backbone, input_ids, mask)
    matrix, k = embeddings(tiny_model), tiny_model.config.k
    for document in range(len(TEXTS)):
        expected = [0.0] * vectors.shape[1]
        for position in range(int(mask[document].sum())):  # including [CLS] and [SEP]
            row = encoder.head(states[document, position])
            values = [
                (matrix[term] @ row + encoder.head.bias[term]).item()
                if term not in tiny_model.wordpieces.special_ids
                else float("-inf")
                for term in range(len(matrix))
            ]
            for term in sorted(range(len(values)), key=lambda term: -values[term])[:k]:
                expected[term] = max(expected[term], values[term])
        assert torch.allclose(vectors[document], torch.tensor(expected), atol=1e-5)


@pytest.mark.parametrize("top_k", [True, False])
def test_the_gradient_of_expansion_is_that_of_the_equations(
    tiny_model_folder: Path, top_k: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare with autograd on all logits: gradients of hidden states, embeddings and head."""
    monkeypatch.setattr(logits, "BLOCK", 13)
    model = SpadeModel.from_pretrained(tiny_model_folder)
    encoder, k = model.expansion, model.config.k
    input_ids, mask = inputs(model)
    states = hidden_states(encoder.backbone, input_ids, mask).detach().requires_grad_()
    direction = torch.randn(len(TEXTS), len(model.kept), generator=torch.Generator().manual_seed(1))
    leaves = [states, embeddings(model), encoder.head.dense.weight, encoder.head.bias]

    values = encoder.logits(states.flatten(0, 1)).view(*input_ids.shape, -1).relu()
    values = values * mask[:, :, None] * model.kept
    if top_k:
        values = values * (values >= values.topk(k, dim=2).values[:, :, -1:])
    expected = torch.autograd.grad((values.amax(dim=1) * direction).sum(), leaves)

    vectors = encoder(states, mask.bool(), model.kept, k if top_k else None)
    assert torch.allclose(vectors, values.amax(dim=1), atol=1e-5)
    gradients = torch.autograd.grad((vectors * direction).sum(), leaves)
    for gradient, reference in zip(gradients, expected, strict=True):
        assert torch.allclose(gradient, reference, atol=1e-4)
        assert gradient.abs().max() > 0.01


@torch.no_grad()
def test_at_most_k_terms_for_each_token(tiny_model: SpadeModel) -> None:
    _, vectors = tiny_model(*inputs(tiny_model, ["cat"]))  # [CLS] cat [SEP]
    assert 0 < int((vectors > 0).sum()) <= 3 * tiny_model.config.k


def test_only_some_terms_are_added(tiny_backbone: Path) -> None:
    model = with_positive_weights(
        SpadeModel.from_backbone(tiny_backbone, SpadeConfig(k=5, max_length=32))
    )
    weighting, everything = components(model)
    expandable = torch.arange(len(model.kept)) % 3 == 0
    model.expansion.expandable.copy_(expandable)
    again, some = components(model)
    assert torch.equal(weighting, again)
    assert (everything[:, ~expandable] > 0).any()
    assert (some[:, ~expandable] == 0).all()
    (every,) = model.expansion_vectors(*inputs(model, TEXTS[:1]), top_k=False).detach()
    _, (kept,) = components(model.with_settings(k=len(model.kept)), TEXTS[:1])
    assert torch.allclose(every, kept, atol=1e-5)


@pytest.mark.parametrize("top_k", [True, False])
def test_output_weights_differ_by_a_low_rank_matrix(tiny_backbone: Path, top_k: bool) -> None:
    model = SpadeModel.from_backbone(tiny_backbone, SpadeConfig(k=4, decoder_rank=2))
    plain = SpadeModel.from_backbone(tiny_backbone, SpadeConfig(k=4))
    batch = inputs(model, TEXTS[:1])
    fresh = model.expansion_vectors(*batch, top_k=top_k)
    assert torch.allclose(fresh, plain.expansion_vectors(*batch, top_k=top_k), atol=1e-6)
    head = model.expansion.head
    with torch.no_grad():
        head.own.normal_()
        head.shared.normal_()
    model.expansion_vectors(*batch, top_k=top_k).sum().backward()  # type: ignore[no-untyped-call]
    for parameter in (head.own, head.shared):
        assert parameter.grad is not None
        assert parameter.grad.abs().sum() > 0
    rows = head(hidden_states(model.expansion.backbone, *batch))[0]
    weights = embeddings(model) + head.own @ head.shared
    values = (rows @ weights.T + head.bias).masked_fill(~model.kept, -torch.inf)
    if top_k:
        values = values.masked_fill(values < values.topk(4).values[:, -1:], -torch.inf)
    expected = values.amax(dim=0).relu()
    assert torch.allclose(model.expansion_vectors(*batch, top_k=top_k)[0], expected, atol=1e-4)


def test_fixed_computes_the_output_layer_once(
    tiny_backbone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = with_positive_weights(
        SpadeModel.from_backbone(tiny_backbone, SpadeConfig(k=5, max_length=32))
    )
    encoder = SpadeEncoder(model)
    expected = [weigh(model, [text]) for text in TEXTS]
    calls: list[torch.Tensor] = []
    compute = model.expansion._output

    def counted(allowed: torch.Tensor) -> Output:
        calls.append(allowed)
        return compute(allowed)

    monkeypatch.setattr(model.expansion, "_output", counted)
    with encoder.fixed():
        for text, weights in zip(TEXTS, expected, strict=True):
            assert torch.equal(weigh(model, [text]), weights)
    assert len(calls) == 1
    with torch.no_grad():
        model.expansion.head.bias.add_(1)
    # Outside `encoder.fixed()`, a change of the weights has an effect.
    assert not torch.equal(weigh(model, TEXTS[:1]), expected[0])
    assert len(calls) == 2
