"""Pruning of document vectors, an extension of the paper."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeModel
from spade_pyserini.models import SpadeEncoder
from spade_pyserini.models.pruning import drop_small_weights, is_noise
from spade_pyserini.records import RemovedTerm
from tests.models.helpers import TEXTS, components, weigh


def test_weights_below_a_share_of_the_largest_are_dropped() -> None:
    vectors = torch.tensor([[8.0, 2.0, 1.9, 0.0], [1.0, 0.3, 0.2, 0.1], [0.0, 0.0, 0.0, 0.0]])
    expected = torch.tensor([[8.0, 2.0, 0.0, 0.0], [1.0, 0.3, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    assert torch.equal(drop_small_weights(vectors, 0.25), expected)
    assert torch.equal(drop_small_weights(vectors[0], 0.25), expected[0])
    assert drop_small_weights(vectors, 0.0) is vectors


def test_noise_is_in_many_expansions_and_few_texts() -> None:
    expanded = torch.tensor([0.5, 0.5, 0.3, 0.9, 0.0])
    contained = torch.tensor([0.0, 0.1, 0.0, 0.17, 0.0])
    noise = is_noise(expanded, contained, gamma=0.3, few=0.2)
    assert noise.tolist() == [True, False, False, True, False]


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
def test_the_final_vector_is_pruned(tiny_model: SpadeModel, alpha: float, saturate: bool) -> None:
    plain = tiny_model.with_settings(alpha=alpha, saturate=saturate)
    before = weigh(plain)
    ratio = float((before[0][before[0] > 0] / before[0].max()).median()) + 1e-4
    pruned = plain.with_settings(prune_ratio=ratio)
    after = weigh(pruned)
    for document in range(len(TEXTS)):
        limit = ratio * before[document].max()
        expected = [weight if weight >= limit else 0.0 for weight in before[document].tolist()]
        assert after[document].tolist() == expected
    assert 0 < (after > 0).sum() < (before > 0).sum()
    # `aggregate` of both vectors gives the same result.
    assert torch.allclose(pruned.aggregate(*components(pruned)), after)
    explained = [SpadeEncoder(pruned).explain(text) for text in TEXTS]
    encoded = [pruned.encode([text])[0] for text in TEXTS]
    assert [{term.term: term.impact for term in terms} for terms in explained] == encoded
    for terms in explained:
        for term in terms:
            assert term.weighting + term.expansion == pytest.approx(term.impact, abs=0.51)


def test_removed_terms_stay_in_documents_that_contain_them(tiny_model: SpadeModel) -> None:
    encoder = SpadeEncoder(tiny_model)
    own, added = encoder.components(tiny_model.wordpieces.document_ids(TEXTS, 32))
    frequent = int((added > 0).sum(dim=0).argmax())
    assert int((added[:, frequent] > 0).sum()) > 1
    in_text = tiny_model.wordpieces.term_ids["the"]
    terms = [tiny_model.wordpieces.terms[term_id] for term_id in (frequent, in_text)]
    fitted = encoder.for_corpus(None, tuple(RemovedTerm(term, 0.9, 0.0) for term in terms))
    batch = tiny_model.wordpieces.document_ids(TEXTS, 32)
    same, pruned = fitted.components(batch)
    added = added.clone()
    added[:, [frequent, in_text]] = 0
    assert torch.equal(same, own) and torch.equal(pruned, added)
    assert own[0, in_text] > 0 and "the" in fitted.encode(TEXTS[0])
    only = fitted.with_settings(alpha=1.0)
    assert torch.allclose(only.weigh(batch), added)
    # Without a corpus, corpus_gamma removes nothing.
    gamma = encoder.with_settings(corpus_gamma=0.01)
    assert gamma.encode(TEXTS) == encoder.encode(TEXTS) != fitted.encode(TEXTS)
    assert gamma.needs_counts and not encoder.needs_counts


def test_a_model_of_an_older_version_is_the_same(
    tiny_model: SpadeModel, tiny_model_folder: Path, tmp_path: Path
) -> None:
    """The config.json of an older version lacks the pruning settings."""
    tiny_model.save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    values = json.loads(path.read_text())
    for name in ("prune_ratio", "corpus_gamma", "corpus_few", "whole_word_forms"):
        del values[name]
    path.write_text(json.dumps(values))
    older = SpadeModel.from_pretrained(tmp_path)
    assert older.fingerprint == SpadeModel.from_pretrained(tiny_model_folder).fingerprint
    assert older.encode(TEXTS) == tiny_model.encode(TEXTS)


def test_the_settings_are_saved_with_the_model(tiny_model: SpadeModel, tmp_path: Path) -> None:
    model = tiny_model.with_settings(prune_ratio=0.6, corpus_gamma=0.3, corpus_few=0.1)
    model.save_pretrained(tmp_path)
    loaded = SpadeModel.from_pretrained(tmp_path)
    assert loaded.config == model.config
    assert loaded.encode(TEXTS) == model.encode(TEXTS) != tiny_model.encode(TEXTS)
    assert loaded.fingerprint == model.fingerprint != tiny_model.fingerprint
