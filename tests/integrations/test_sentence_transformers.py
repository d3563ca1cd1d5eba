"""SpaDE as a `SparseEncoder` of sentence-transformers: vectors, scores, decoding, evaluation."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers.sparse_encoder import SparseEncoder

from spade_pyserini import encode_corpus, open_corpus
from spade_pyserini.encode.counts_file import counts_path, fit_encoder
from spade_pyserini.errors import ArtifactError, UsageError
from spade_pyserini.integrations.sentence_transformers import sparse_encoder
from spade_pyserini.models import SpadeModel
from spade_pyserini.models.encoder import SpadeEncoder

# The libraries warn about sparse tensors of PyTorch, and about model cards without a licence.
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


LOAD = """
import json, sys
import spade_pyserini.integrations.sentence_transformers
from sentence_transformers import SparseEncoder

texts, queries = json.loads(sys.argv[2])
model = SparseEncoder(sys.argv[1])
documents = model.encode_document(texts).to_dense().tolist()
terms = model.decode(model.encode_document(texts[0]), top_k=1)
print(json.dumps([documents, model.encode_query(queries).to_dense().tolist(), terms]))
"""


def test_a_saved_encoder_is_loaded_in_a_new_process(tiny_model: SpadeModel, tmp_path: Path) -> None:
    """The encoder does not need trust_remote_code, because the folder contains no code."""
    encoder = sparse_encoder(tiny_model)
    encoder.save_pretrained(str(tmp_path / "encoder"))
    assert not list(tmp_path.rglob("*.py")) and not list(tmp_path.rglob("*.bin"))
    arguments = [str(tmp_path / "encoder"), json.dumps([TEXTS, QUERIES])]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LOAD, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    documents, queries, terms = json.loads(done.stdout.splitlines()[-1])
    wanted = expected(SpadeEncoder(tiny_model))
    torch.testing.assert_close(torch.tensor(documents), wanted, atol=1e-5, rtol=0)
    assert torch.equal(torch.tensor(queries), dense(encoder.encode_query(QUERIES)))
    best = encoder.decode(encoder.encode_document(TEXTS[0]), top_k=1)
    assert terms[0][0] == best[0][0]


def test_a_saved_encoder_is_a_model_of_ours(
    tiny_model: SpadeModel, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sparse_encoder(tiny_model).save_pretrained(str(tmp_path / "first"))
    loaded = SparseEncoder(str(tmp_path / "first"))
    loaded.encode_document(TEXTS)  # sets the truncation and padding of its tokenizer
    loaded.save_pretrained(str(tmp_path / "second"))
    for name in ("first", "second"):
        model = SpadeModel.from_pretrained(tmp_path / name)
        assert model.encode(TEXTS) == tiny_model.encode(TEXTS)
    assert "edited" not in caplog.text
    card = (tmp_path / "first" / "README.md").read_text()
    assert "- sparse-encoder\n" in card and "- sentence-transformers\n" in card
    weights = tmp_path / "first" / "document_0_Transformer" / "model.safetensors"
    data = weights.read_bytes()
    weights.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ArtifactError, match="differs from its digest"):
        SparseEncoder(str(tmp_path / "first"))


def test_an_encoder_with_the_counts_of_a_corpus_is_not_saved(
    idf_model: SpadeModel, tiny_corpus: Path, tmp_path: Path
) -> None:
    encode_corpus(open_corpus(str(tiny_corpus)), idf_model, tmp_path / "vectors")
    encoder = sparse_encoder(idf_model, counts=counts_path(tmp_path / "vectors"))
    with pytest.raises(UsageError, match="counts of a corpus cannot be saved"):
        encoder.save_pretrained(str(tmp_path / "encoder"))


NANO = """---
configs:
- {config_name: corpus, data_files: [{split: NanoSciFact, path: corpus.jsonl}]}
- {config_name: queries, data_files: [{split: NanoSciFact, path: queries.jsonl}]}
- {config_name: qrels, data_files: [{split: NanoSciFact, path: qrels.jsonl}]}
---
"""


def test_the_evaluator_of_nanobeir(
    tiny_model: SpadeModel, tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dataset is in a folder, in the format of the datasets of NanoBEIR on the hub."""
    from ir_measures import calc_aggregate, nDCG
    from sentence_transformers.sparse_encoder.evaluation import SparseNanoBEIREvaluator

    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    documents = {d.docid: d.contents for d in open_corpus(str(tiny_corpus))}
    queries = {"q1": "the old dog", "q2": "fish and bird"}
    qrels = {"q1": {"d3": 1, "d7": 1}, "q2": {"d11": 1}}
    folder = tmp_path / "nano"
    folder.mkdir()
    (folder / "README.md").write_text(NANO)
    for name, texts in (("corpus", documents), ("queries", queries)):
        lines = [json.dumps({"_id": key, "text": text}) for key, text in texts.items()]
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    pairs = [(qid, docid) for qid, judged in qrels.items() for docid in judged]
    lines = [json.dumps({"query-id": qid, "corpus-id": docid}) for qid, docid in pairs]
    (folder / "qrels.jsonl").write_text("\n".join(lines))
    encoder = sparse_encoder(tiny_model)
    evaluate = SparseNanoBEIREvaluator(["scifact"], dataset_id=str(folder), write_csv=False)
    value = evaluate(encoder)["NanoBEIR_mean_dot_ndcg@10"]
    weights = dense(encoder.encode_document(list(documents.values())))
    scores = dense(encoder.encode_query(list(queries.values()))) @ weights.T
    run = {
        qid: dict(zip(documents, row.tolist(), strict=True))
        for qid, row in zip(queries, scores, strict=True)
    }
    (wanted,) = calc_aggregate([nDCG @ 10], qrels, run).values()
    assert 0 < value < 1 and value == pytest.approx(wanted, abs=1e-3)


def test_models_of_other_systems_are_refused(systems: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match="not a SpaDE model; use SparseEncoder"):
        sparse_encoder(systems["splade-max"])
