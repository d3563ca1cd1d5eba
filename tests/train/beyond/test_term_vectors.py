"""An expansion head that is initialized from the embeddings of a bi-encoder."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeConfig, SpadeModel
from spade_pyserini.errors import UsageError
from spade_pyserini.train import fit_term_vectors, load_recipe
from spade_pyserini.train.beyond.term_vectors import TermVectors, install
from spade_pyserini.train.log import read_log
from spade_pyserini.train.settings import TrainingCollection
from tests.models.helpers import embeddings, hidden_states, inputs


def test_a_head_that_starts_from_query_terms(tmp_path: Path) -> None:
    start = load_recipe("spade-mini-2-start")
    small = start.change(
        data=(TrainingCollection(queries="pydoc-dev", qrels="pydoc-dev"),),
        adapter_rank=2,
        adapter_layers=1,
        decoder_rank=4,
        steps=150,
        batch_size=40,
    )
    model = SpadeModel.from_pretrained(fit_term_vectors(small, tmp_path / "start"))
    distances = [line["distance"] for line in read_log(tmp_path / "start", "step")]
    assert distances[-1] < 0.7 * distances[0]
    assert model.expansion.head.own.any() and not model.config.trained
    with pytest.raises(UsageError, match="the recipe names no dense_teacher"):
        fit_term_vectors(small.change(dense_teacher=None), tmp_path / "none")


def test_logits_are_inner_products_with_the_terms_vectors(tiny_backbone: Path) -> None:
    """Logits correlate with the inner products; they differ because of the head's layer norm."""
    torch.manual_seed(1)
    model = SpadeModel.from_backbone(tiny_backbone, SpadeConfig(max_length=32, decoder_rank=2))
    matrix = embeddings(model).detach()
    weights = torch.linspace(1, 3, len(matrix))
    vectors = TermVectors(matrix, 2, weights)
    with torch.no_grad():
        for parameter in (vectors.transform, vectors.own, vectors.shared):
            # Small changes, so that the transform stays invertible.
            parameter.add_(torch.randn(parameter.shape) * 0.05)
    texts = ["the old cat sleeps", "a dog eats the fish"]
    install(vectors, model, texts)
    assert torch.allclose(model.query_weights, weights)
    term_ids = torch.arange(len(model.query_weights))
    with torch.no_grad():
        (hidden,) = hidden_states(model.expansion.backbone, *inputs(model, texts[:1]))
        expected = hidden @ torch.stack([vectors([term_id[None]])[0] for term_id in term_ids]).T
        decoder = model.expansion.head.decoder(matrix, slice(None))
        logits = model.expansion.head(hidden) @ decoder.T
    for row, reference in zip(logits, expected / weights, strict=True):
        assert torch.corrcoef(torch.stack([row, reference]))[0, 1] > 0.95
