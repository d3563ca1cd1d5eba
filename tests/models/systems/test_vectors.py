"""Vectors equal those of the library that saved the model, or those of the plain equations."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import (
    AutoTokenizer,
    BertForMaskedLM,
    BertForTokenClassification,
    BertModel,
)

from spade_pyserini.errors import InputError
from spade_pyserini.formats.query_side import quantize_weights, read_term_weights
from spade_pyserini.models.protocols import DocumentEncoder
from spade_pyserini.models.quantize import quantize
from spade_pyserini.models.systems.loading import load_encoder
from spade_pyserini.models.tensors import named, sparse
from tests.conftest import shared_data
from tests.models.systems.checkpoints import TEXTS, DeepImpact, TILDEv2

Weights = dict[str, float]


def vectors_of(encoder: DocumentEncoder, texts: list[str] = TEXTS) -> list[Weights]:
    """Return the float weights of each text, by term."""
    batch = [document.ids for document in encoder.cut_documents(texts)]
    columns = encoder.columns(batch)
    return [named(columns, vector) for vector in sparse(encoder.weigh(batch))]


def rows(encoder: DocumentEncoder, matrix: Tensor, dropped: tuple[str, ...] = ()) -> list[Weights]:
    """Return the rows of a matrix as weights by term, without the terms in ``dropped``."""
    found = [named(encoder.wordpieces.terms, vector) for vector in sparse(matrix)]
    return [{term: x for term, x in row.items() if term not in dropped} for row in found]


def assert_close(ours: list[Weights], theirs: list[Weights]) -> None:
    for own, other in zip(ours, theirs, strict=True):
        assert own.keys() == other.keys()
        assert own == pytest.approx(other, abs=1e-5)


@pytest.mark.parametrize("name", ["splade-max", "splade-sum"])
def test_a_sparse_encoder_of_sentence_transformers(name: str, systems: dict[str, Path]) -> None:
    from sentence_transformers import SparseEncoder

    library = SparseEncoder(str(systems[name]), device="cpu")
    encoder = load_encoder(systems[name])
    documents = library.encode_document(TEXTS, convert_to_sparse_tensor=False)
    assert_close(vectors_of(encoder), rows(encoder, documents))
    queries = library.encode_query(TEXTS, convert_to_sparse_tensor=False)
    expected = rows(encoder, torch.round(queries * 256 / 5))
    assert encoder.queries.encode(TEXTS) == expected
    assert encoder.queries.side.kind == "neural" and encoder.system == "splade"
    impacts = [named(encoder.wordpieces.terms, x) for x in sparse(quantize(documents, 51.2, 8))]
    assert encoder.encode(TEXTS) == impacts  # type: ignore[attr-defined]


def test_weights_of_query_terms_in_a_table_or_in_the_documents(systems: dict[str, Path]) -> None:
    from sentence_transformers import SparseEncoder

    library = SparseEncoder(str(systems["opensearch"]), device="cpu")
    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    documents = library.encode_document(TEXTS, convert_to_sparse_tensor=False)
    queries = library.encode_query(TEXTS, convert_to_sparse_tensor=False)
    table = load_encoder(systems["opensearch"], fold=False)
    assert_close(vectors_of(table), rows(table, documents, special))
    largest = torch.linspace(0.2, 3.0, queries.shape[1])[5:].max()
    expected = rows(table, torch.round(queries * 255 / largest), special)
    assert table.queries.encode(TEXTS) == expected
    assert table.queries.side.kind == "table"
    folded = load_encoder(systems["opensearch"])
    assert folded.queries.side.kind == "boolean"
    for row, document in zip(vectors_of(folded), documents, strict=True):
        for text, query in zip(TEXTS[:3], queries[:3], strict=True):  # text 4 has an unknown word
            score = sum(row.get(term, 0.0) for term in folded.queries.encode([text])[0])
            assert score == pytest.approx((query @ document).item(), abs=1e-4)


def test_boolean_queries_and_prompts(systems: dict[str, Path], tmp_path: Path) -> None:
    from sentence_transformers import SparseEncoder

    from tests.models.systems.checkpoints import routed_encoder

    encoder = load_encoder(systems["splade-doc"])
    assert encoder.queries.side.recorded()["kind"] == "boolean"
    assert encoder.queries.encode(["the cat the"]) == [{"the": 1, "cat": 1}]
    size = len(encoder.wordpieces.terms)
    prompts = {"query": "big ", "document": "old "}
    folder = routed_encoder(tmp_path / "p", systems["splade"], torch.ones(size), prompts)
    prompted = load_encoder(folder)
    assert prompted.queries.encode(["cat"]) == [{"big": 1, "cat": 1}]
    short = prompted.with_settings(max_length=4)  # [CLS] old cat [SEP]
    assert short.characters_read("cat dog") == 3 and short.characters_read("cat ") == 4
    library = SparseEncoder(str(folder), device="cpu")
    theirs = library.encode_document(TEXTS, convert_to_sparse_tensor=False)
    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    assert_close(vectors_of(prompted), rows(prompted, theirs, special))


def test_a_masked_lm_checkpoint(systems: dict[str, Path]) -> None:
    model = BertForMaskedLM.from_pretrained(systems["splade"])
    encoder = load_encoder(systems["splade"])
    inputs = tokens(systems["splade"])
    with torch.no_grad():
        logits = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
    saturated = torch.log(1 + torch.relu(logits.logits)) * inputs["attention_mask"][:, :, None]
    assert_close(vectors_of(encoder), rows(encoder, saturated.max(dim=1).values))


def test_a_masked_lm_checkpoint_with_idf(systems: dict[str, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(systems["splade"], tmp_path / "doc")
    (folder / "idf.json").write_text('{"cat": 2.0, "the": 0.5, "dog": 4.0}')
    plain, table = load_encoder(systems["splade"]), load_encoder(folder, fold=False)
    assert table.queries.encode(["the cat, the dog"]) == [{"the": 32, "cat": 128, "dog": 255}]
    folded = load_encoder(folder)
    assert folded.queries.encode(["the cat"]) == [{"the": 1, "cat": 1}]
    idf = {"cat": 2.0, "the": 0.5, "dog": 4.0}
    expected = [
        {term: idf[term] * x for term, x in row.items() if term in idf} for row in vectors_of(plain)
    ]
    assert_close(vectors_of(folded), expected)
    (folder / "idf.json").write_text('{"cat": 2.0, "zebra": 0.5}')
    with pytest.raises(InputError, match="'zebra' is not in the vocabulary"):
        load_encoder(folder)
    (folder / "idf.json").write_text('{"cat": -2.0}')
    with pytest.raises(InputError, match="finite and not negative"):
        load_encoder(folder)


def test_idf_that_opensearch_publishes() -> None:
    weights = read_term_weights(shared_data("opensearch-idf") / "idf.json.gz")
    assert len(weights) == 30522 and weights["the"] == pytest.approx(0.135, abs=0.001)
    assert max(quantize_weights(weights).values()) == 255


def tokens(folder: Path, texts: list[str] = TEXTS) -> Any:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    return tokenizer(texts, padding=True, return_tensors="pt", return_token_type_ids=False)


def token_scores(model: Any, head: Callable[[Tensor], Tensor], folder: Path) -> list[Any]:
    """Return the tokens of each text with their weights after ReLU."""
    inputs, tokenizer = tokens(folder), AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        hidden = model(**inputs).last_hidden_state
        scores = head(hidden).squeeze(-1).relu()
    return [
        list(zip(tokenizer.convert_ids_to_tokens(ids), row.tolist(), strict=True))
        for ids, row in zip(inputs["input_ids"], scores, strict=True)
    ]


def test_unicoil_and_tildev2(systems: dict[str, Path]) -> None:
    model = TILDEv2.from_pretrained(systems["tildev2"])  # in evaluation mode
    documents, queries, boolean = [], [], []
    for pairs in token_scores(model.bert, model.tok_proj, systems["tildev2"]):
        largest: Weights = {}
        total: Weights = {}
        for token, weight in pairs:
            if token not in ("[CLS]", "[PAD]"):
                largest[token] = max(weight, largest.get(token, 0.0))
                total[token] = weight + total.get(token, 0.0)
        documents.append({term: x for term, x in largest.items() if x > 0})
        queries.append({term: round(x / 5 * 256) for term, x in total.items()})
        boolean.append({term: x for term, x in documents[-1].items() if term[0] != "["})
    unicoil, tilde = load_encoder(systems["unicoil"]), load_encoder(systems["tildev2"])
    assert (unicoil.system, tilde.system) == ("unicoil", "tildev2")
    assert_close(vectors_of(unicoil), documents)
    assert_close(vectors_of(tilde), boolean)
    expected = [{term: x for term, x in query.items() if x} for query in queries]
    assert unicoil.queries.encode(TEXTS) == expected
    assert tilde.queries.encode(["the cat the"]) == [{"the": 1, "cat": 1}]


def words_of(pairs: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return words and the weights of their first WordPieces, without punctuation."""
    words: list[tuple[str, float]] = []
    for token, weight in pairs:
        if token.startswith("##"):
            words[-1] = (words[-1][0] + token[2:], words[-1][1])
        else:
            words.append((token, weight))
    return [(word, x) for word, x in words if word not in (",", ".") and word[0] != "["]


def test_deepimpact_takes_the_first_occurrence_and_deepct_the_maximum(
    systems: dict[str, Path],
) -> None:
    impact = DeepImpact.from_pretrained(systems["deepimpact"])
    expected: list[Weights] = []
    for pairs in token_scores(impact.bert, impact.impact_score_encoder, systems["deepimpact"]):
        first: Weights = {}
        for word, weight in words_of(pairs):
            first.setdefault(word, weight)
        expected.append({word: weight for word, weight in first.items() if weight > 0})
    encoder = load_encoder(systems["deepimpact"])
    assert_close(vectors_of(encoder), expected)
    assert "delete" in expected[1]  # its WordPieces are del ##ete
    assert encoder.queries.encode(["Delete, the cat!"]) == [{"delete": 1, "the": 1, "cat": 1}]
    classifier = BertForTokenClassification.from_pretrained(systems["deepct"])
    expected = []
    for pairs in token_scores(classifier.bert, classifier.classifier, systems["deepct"]):
        largest: Weights = {}
        for word, weight in words_of(pairs):
            largest[word] = max(weight, largest.get(word, 0.0))
        expected.append({word: weight for word, weight in largest.items() if weight > 0})
    encoder = load_encoder(systems["deepct"])
    assert_close(vectors_of(encoder), expected)
    assert encoder.config.scale == 100


def test_a_word_that_does_not_fit_is_left_out(systems: dict[str, Path]) -> None:
    # The first text is cut to [CLS] the cat del [SEP], inside the word "delete".
    encoder = load_encoder(systems["deepimpact"]).with_settings(max_length=5)
    (document,) = encoder.cut_documents(["the cat delete the house"])
    assert [encoder.wordpieces.terms[x] for x in document.ids[1:-1]] == ["the", "cat"]
    assert document.left_out == document.length - 2
    (document,) = encoder.cut_documents(["the cat house delete"])
    assert len(document.ids) == 5


def test_a_transformer_alone_gives_no_vectors(tiny_backbone: Path) -> None:
    assert BertModel.from_pretrained(tiny_backbone) is not None
    with pytest.raises(Exception, match="without a head"):
        load_encoder(tiny_backbone)
