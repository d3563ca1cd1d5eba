"""Extensions of the paper's model: idf weights of the corpus, and inflected forms of words.

A model that follows the paper has neither extension. Settings of training can switch them on.
"""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import Tensor

from spade_pyserini.errors import UsageError
from spade_pyserini.models.dual_encoder import DualEncoder
from spade_pyserini.models.term_counts import TermCounts, empty_counts, idf_weights

Model = TypeVar("Model", bound=DualEncoder)


def corpus_weights(model: DualEncoder, counts: TermCounts | None) -> Tensor:
    """Return the weight of each term in a corpus, [|V|]: all 1 without ``config.corpus_idf``.

    ``counts`` are the counts of the corpus. If None, the document frequencies of the training
    documents are used.
    """
    if model.document_frequency is None:
        return torch.ones_like(model.query_weights)
    counts = counts or empty_counts(len(model.kept))
    return idf_weights(counts, model.document_frequency, model.config.corpus_idf)


def with_corpus_idf(model: Model, power: float, counts: TermCounts) -> Model:
    """Return a model that multiplies weights by the terms' idf in the corpus, raised to ``power``.

    ``counts`` are the counts of the training documents. A power of 0 switches the extension off.
    The returned model shares its weights with ``model``.
    """
    frequency = (counts.df / max(1, counts.documents)).to(model.kept.device)
    changed = model.with_settings(corpus_idf=power)
    return _with_buffer(changed, "document_frequency", frequency if power else None)


def with_forms(model: Model, share: float, forms: Tensor | None) -> Model:
    """Return a model whose document vectors contain the other forms of the document's words.

    share: the weight of an added form, as a fraction of the weight of the form in the document; 0
    switches the extension off. forms [|V|]: see `add_forms`. The returned model shares its weights
    with ``model``.
    """
    if share and forms is None:
        raise UsageError(f"share is {share}; give forms, the tensor of inflected forms, too")
    changed = model.with_settings(forms=share)
    return _with_buffer(changed, "forms", forms if share else None)


def _with_buffer(model: Model, name: str, tensor: Tensor | None) -> Model:
    """Set a buffer of ``model``, but not of the models that share their buffers with it."""
    model._buffers = dict(model._buffers)
    model._buffers[name] = None if tensor is None else tensor.to(model.kept.device)
    return model
