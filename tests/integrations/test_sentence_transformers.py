"""SpaDE as a `SparseEncoder`: the same vectors, and what sentence-transformers does with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from spade_pyserini import encode_corpus, open_corpus
from spade_pyserini.encode.counts_file import counts_path, fit_encoder
from spade_pyserini.errors import UsageError
from spade_pyserini.integrations.sentence_transformers import sparse_encoder
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.encoder import SpadeEncoder

# The libraries warn about sparse tensors of PyTorch, and about cards without a licence.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
TEXTS = ["the old dog runs", "a bird sings in the green tree " * 9, "", "open € files"]
QUERIES = ["the bird and the bird", "deletes", "€", ""]


def dense(embeddings: Any) -> torch.Tensor:
    return torch.stack([row.to_dense() for row in embeddings])


def expected(encoder: SpadeEncoder) -> torch.Tensor:
    return encoder.weigh([document.ids for document in encoder.cut_documents(TEXTS)])


def test_vectors_are_those_of_the_model(tiny_model: SpadeModel, tiny_model_folder: Path) -> None:
    encoder = sparse_encoder(tiny_model_folder)
    documents = dense(encoder.encode_document(TEXTS, batch_size=2))
    torch.testing.assert_close(documents, expected(SpadeEncoder(tiny_model)), atol=1e-5, rtol=0)
    assert encoder.get_embedding_dimension() == documents.shape[1] == len(tiny_model.kept)
    queries = dense(encoder.encode_query(QUERIES))
    wordpieces = tiny_model.wordpieces
    for row, query in zip(queries, QUERIES, strict=True):
        assert row.nonzero().flatten().tolist() == sorted(wordpieces.query_ids(query))
        assert set(row.tolist()) <= {0.0, 1.0}
    assert dense(encoder.encode_query(["the " + "cat " * 900 + "dog"])).sum() == 3  # not cut
    scores = encoder.similarity(queries.to_sparse(), documents.to_sparse())
    torch.testing.assert_close(scores, queries @ documents.T)


def test_decode_returns_the_terms(tiny_model: SpadeModel) -> None:
    encoder = sparse_encoder(tiny_model)
    pairs: Any = encoder.decode(encoder.encode_document(TEXTS[0]))
    decoded = dict(pairs)
    impacts = tiny_model.encode(TEXTS[0])
    assert impacts
    scale = tiny_model.config.scale
    assert scale
    for term, impact in impacts.items():
        assert decoded[term] * scale == pytest.approx(impact, abs=0.51)
    best = max(decoded.values())
    assert encoder.decode(encoder.encode_document(TEXTS[0]), top_k=1)[0][1] == best


def test_document_frequencies_of_a_corpus(
    idf_model: SpadeModel, tiny_corpus: Path, tmp_path: Path
) -> None:
    encode_corpus(open_corpus(str(tiny_corpus)), idf_model, tmp_path / "vectors")
    counts = counts_path(tmp_path / "vectors")
    encoder = sparse_encoder(idf_model, counts=counts)
    documents = dense(encoder.encode_document(TEXTS))
    wanted = expected(fit_encoder(SpadeEncoder(idf_model), counts))
    torch.testing.assert_close(documents, wanted, atol=1e-5, rtol=0)
    assert not torch.allclose(documents, expected(SpadeEncoder(idf_model)), atol=1e-3)


def test_the_model_is_saved_not_the_encoder(tiny_model: SpadeModel, tmp_path: Path) -> None:
    encoder = sparse_encoder(tiny_model)
    with pytest.raises(UsageError, match="save its SpadeModel with save_pretrained"):
        encoder.save_pretrained(str(tmp_path / "encoder"))
    tiny_model.save_pretrained(tmp_path / "model")
    again = sparse_encoder(tmp_path / "model")
    for name, texts in (("encode_document", TEXTS), ("encode_query", QUERIES)):
        ours, theirs = (dense(getattr(model, name)(texts)) for model in (encoder, again))
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)


def test_the_retrieval_evaluator(tiny_model: SpadeModel) -> None:
    """NanoBEIR's evaluator runs this one on each of its collections."""
    from sentence_transformers.sparse_encoder.evaluation import (
        SparseInformationRetrievalEvaluator,
    )

    corpus = {str(number): text for number, text in enumerate(TEXTS)}
    evaluate = SparseInformationRetrievalEvaluator(
        {"q": "the bird sings"}, corpus, {"q": {"1"}}, show_progress_bar=False, name="tiny"
    )
    assert 0 <= evaluate(sparse_encoder(tiny_model))["tiny_dot_ndcg@10"] <= 1


def test_models_of_other_systems_are_refused(systems: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match="not a SpaDE model; use SparseEncoder"):
        sparse_encoder(systems["splade-max"])
