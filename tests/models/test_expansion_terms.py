"""A head with output weights of its own, for some of the terms only, started from queries."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeConfig, SpadeModel
from spade_pyserini.errors import UsageError
from spade_pyserini.models.expansion import Output
from spade_pyserini.models.term_counts import count_terms, most_frequent
from spade_pyserini.train import Recipe, fit_query_head, load_recipe, train
from spade_pyserini.train.log import read_log
from spade_pyserini.train.beyond.term_vectors import TermVectors, install
from tests.conftest import lively


def test_only_some_terms_are_added(tiny_backbone: Path) -> None:
    model = lively(SpadeModel.from_backbone(tiny_backbone, SpadeConfig(k=5, max_length=32)))
    ids = model.wordpieces.document_ids(["the old cat sleeps", "a dog eats the fish"], 32)
    weighting, everything = model.components(ids)
    allowed = torch.arange(len(model.kept)) % 3 == 0
    model.expansion.expandable.copy_(allowed)
    again, some = model.components(ids)
    assert torch.equal(weighting, again)
    assert (everything[:, ~allowed] > 0).any()
    assert (some[:, ~allowed] == 0).all()
    model.expansion.k = len(model.kept)
    (every,) = model.expansion_vectors(*_inputs(ids[:1]), top_k=False).detach()
    _, (kept,) = model.components(ids[:1])
    assert torch.allclose(every, kept, atol=1e-5)


def _inputs(ids: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    tensor = torch.tensor(ids)
    return tensor, torch.ones_like(tensor)


@pytest.mark.parametrize("top_k", [True, False])
def test_output_weights_differ_by_a_low_rank_matrix(tiny_backbone: Path, top_k: bool) -> None:
    model = SpadeModel.from_backbone(tiny_backbone, SpadeConfig(k=4, decoder_rank=2))
    plain = SpadeModel.from_backbone(tiny_backbone, SpadeConfig(k=4))
    inputs = _inputs(model.wordpieces.document_ids(["the old cat sleeps"], 32))
    fresh = model.expansion_vectors(*inputs, top_k=top_k)
    assert torch.allclose(fresh, plain.expansion_vectors(*inputs, top_k=top_k), atol=1e-6)
    with torch.no_grad():
        model.expansion.head.own.normal_()
        model.expansion.head.shared.normal_()
    model.expansion_vectors(*inputs, top_k=top_k).sum().backward()  # type: ignore[no-untyped-call]
    for parameter in (model.expansion.head.own, model.expansion.head.shared):
        assert parameter.grad is not None
        assert parameter.grad.abs().sum() > 0
    hidden = model.expansion.backbone(input_ids=inputs[0], attention_mask=inputs[1])[0]
    rows = model.expansion.head(hidden)[0]
    embeddings = model.expansion.backbone.get_input_embeddings().get_parameter("weight")
    weights = embeddings + model.expansion.head.own @ model.expansion.head.shared
    logits = (rows @ weights.T + model.expansion.head.bias).masked_fill(~model.kept, -torch.inf)
    if top_k:
        logits = logits.masked_fill(logits < logits.topk(4).values[:, -1:], -torch.inf)
    expected = logits.amax(dim=0).relu()
    assert torch.allclose(model.expansion_vectors(*inputs, top_k=top_k)[0], expected, atol=1e-4)


def test_the_terms_that_most_documents_have(tiny_model: SpadeModel) -> None:
    words = tiny_model.wordpieces
    texts = ["the cat the cat", "the dog", "the cat", "a fish"]
    df = count_terms(words, texts, len(words.terms), 32).df
    places = {term: words.terms.index(term) for term in ("the", "cat", "dog", "fish")}
    assert {term: int(df[place]) for term, place in places.items()} == {
        "the": 3,
        "cat": 2,
        "dog": 1,
        "fish": 1,
    }
    assert most_frequent(df, 2).nonzero().flatten().tolist() == sorted(
        [places["the"], places["cat"]]
    )
    assert int(most_frequent(df, len(df) - 1).sum()) == 5  # "a" too
    assert most_frequent(df, 30_522).all()


def test_training_with_fewer_terms(recipe: Recipe, tmp_path: Path) -> None:
    best = train(replace(recipe, expansion_terms=6, decoder_rank=2), tmp_path / "run")
    model = SpadeModel.from_pretrained(best)
    assert int(model.expansion.expandable.sum()) == 6
    _, expansion = model.components(model.wordpieces.document_ids(["the old cat sleeps"], 32))
    assert int((expansion > 0).sum()) <= 6
    again = replace(recipe, init=str(best), expansion_terms=30_522, decoder_rank=2)
    model = SpadeModel.from_pretrained(train(again, tmp_path / "again"))
    assert model.expansion.expandable.all()  # what was closed can be opened


def test_a_head_that_knows_what_is_asked(tmp_path: Path) -> None:
    start = load_recipe("spade-mini-start")
    small = replace(
        start,
        data=(replace(start.data[0], corpus="", queries="pydoc-dev", qrels="pydoc-dev"),),
        adapter_rank=2,
        adapter_layers=1,
        decoder_rank=4,
        steps=150,
        batch_size=40,
    )
    model = SpadeModel.from_pretrained(fit_query_head(small, tmp_path / "start"))
    distances = [line["distance"] for line in read_log(tmp_path / "start", "step")]
    assert distances[-1] < 0.7 * distances[0]
    assert model.expansion.head.own.any() and not model.config.trained
    with pytest.raises(UsageError, match="the recipe names no dense_teacher"):
        fit_query_head(replace(small, dense_teacher=None), tmp_path / "none")


def test_logits_are_inner_products_with_the_terms_vectors(tiny_backbone: Path) -> None:
    """Up to what layer norm takes from a token: its scale, and one of 32 dimensions."""
    model = SpadeModel.from_backbone(tiny_backbone, SpadeConfig(max_length=32, decoder_rank=2))
    embeddings = model.expansion.backbone.get_input_embeddings().get_parameter("weight").detach()
    weights = torch.linspace(1, 3, len(embeddings))
    vectors = TermVectors(embeddings, 2, weights)
    with torch.no_grad():
        for parameter in (vectors.transform, vectors.own, vectors.shared):
            parameter.add_(torch.randn(parameter.shape) * 0.2)
    texts = ["the old cat sleeps", "a dog eats the fish"]
    install(vectors, model, texts)
    assert torch.allclose(model.query_weights, weights)
    inputs = _inputs(model.wordpieces.document_ids(texts[:1], 32))
    with torch.no_grad():
        (hidden,) = model.expansion.backbone(input_ids=inputs[0], attention_mask=inputs[1])[0]
        wanted = hidden @ torch.stack([vectors([term[None]])[0] for term in _terms(model)]).T
        decoder = model.expansion.head.decoder(embeddings, slice(None))
        logits = model.expansion.head(hidden) @ decoder.T
    for found, asked in zip(logits, wanted / weights, strict=True):
        assert torch.corrcoef(torch.stack([found, asked]))[0, 1] > 0.95


def _terms(model: SpadeModel) -> torch.Tensor:
    return torch.arange(len(model.query_weights))


def test_output_weights_are_put_together_once_where_nothing_changes(
    tiny_backbone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = lively(SpadeModel.from_backbone(tiny_backbone, SpadeConfig(k=5, max_length=32)))
    batches = [model.wordpieces.document_ids([text], 32) for text in ("the old cat", "a dog")]
    wanted = [model.weigh(batch) for batch in batches]
    made: list[torch.Tensor] = []
    put_together = model.expansion._output

    def counted(kept: torch.Tensor) -> Output:
        made.append(kept)
        return put_together(kept)

    monkeypatch.setattr(model.expansion, "_output", counted)
    with model.fixed():
        assert all(torch.equal(model.weigh(one), w) for one, w in zip(batches, wanted, strict=True))
    assert len(made) == 1
    with torch.no_grad():
        model.expansion.head.bias.add_(1)
    assert not torch.equal(model.weigh(batches[0]), wanted[0])  # outside, changes count
    assert len(made) == 2
