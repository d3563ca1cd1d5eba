"""`SpadeEncoder`: from texts to impacts."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import torch
from torch import Tensor

from spade_pyserini.errors import ArtifactError
from spade_pyserini.models.config import SpadeConfig
from spade_pyserini.models.devices import move
from spade_pyserini.models.dual_encoder import DualEncoder
from spade_pyserini.models.explanation import Expansion, TermWeight, TermWeights, split_impacts
from spade_pyserini.models.extensions import corpus_weights
from spade_pyserini.models.inflections import words_with_forms
from spade_pyserini.models.persistence import load_model
from spade_pyserini.models.precision import autocast, check_precision
from spade_pyserini.models.pruning import drop_small_weights
from spade_pyserini.models.quantize import calibrate, quantize
from spade_pyserini.models.queries import BooleanQueries
from spade_pyserini.models.tensors import SparseVector, named, pad_batch, sparse
from spade_pyserini.models.term_counts import TermCounts
from spade_pyserini.models.wordpieces import DocumentIds, WordPieces
from spade_pyserini.records import RemovedTerm


@dataclass(frozen=True, eq=False)
class SpadeEncoder:
    """A model, the precision that it computes in, and the corpus whose documents it encodes.

        encoder = SpadeEncoder.from_pretrained("spade-mini", device="cuda", precision="fp16")
        encoder = encoder.with_settings(alpha=0.4).for_corpus(counts)
        encoder.encode(["Recursively delete a directory tree."])   # [{"delete": 87, ...}]

    An encoder is immutable: `with_settings`, `with_precision`, `for_corpus` and `to` return a new
    one. It can be pickled, for worker processes.

    model: the weights and the settings.
    precision: ``fp32``, ``bf16`` or ``fp16``. The constructor does not check that the device
        supports it, because a process that starts workers may not have the GPU that they use. See
        `check_precision`.
    counts: the document frequencies of the corpus. If None, the document frequencies of the
        training documents are used. ``counts`` has an effect only if `needs_counts` is True.
    removed: the terms that corpus-level pruning removes from the expansion vectors, see
        ``corpus_gamma`` of `SpadeConfig`. Empty until `for_corpus` is called.
    """

    model: DualEncoder
    precision: str = "fp32"
    counts: TermCounts | None = None
    removed: tuple[RemovedTerm, ...] = ()

    @classmethod
    def from_pretrained(
        cls, name: str | Path, *, device: str = "cpu", precision: str = "fp32"
    ) -> SpadeEncoder:
        """Load a model by its folder, its Hugging Face name, or the name of a shipped model."""
        model = move(load_model(DualEncoder, name), device)
        return cls(model).with_precision(precision)

    # Properties

    @property
    def config(self) -> SpadeConfig:
        """The settings of the model."""
        return self.model.config

    @property
    def wordpieces(self) -> WordPieces:
        """The tokenizer."""
        return self.model.wordpieces

    @property
    def fingerprint(self) -> str:
        """A digest of settings, tokenizer and weights: equal only if all of them are equal."""
        return self.model.fingerprint

    @property
    def device(self) -> torch.device:
        """The device that the weights are on."""
        return self.model.kept.device

    @property
    def system(self) -> str:
        """Empty for SpaDE; other kinds of models have a name, such as ``splade``."""
        return ""

    @property
    def queries(self) -> BooleanQueries:
        """The query encoder: boolean, because document vectors include the query term weights."""
        return BooleanQueries(self.wordpieces)

    @property
    def needs_counts(self) -> bool:
        """True if the weights of a document depend on the corpus that it belongs to."""
        return self.config.corpus_idf > 0 or self.config.corpus_gamma > 0

    # Other encoders with the same weights

    def with_settings(self, **changes: Any) -> SpadeEncoder:
        """Return an encoder with other settings, such as ``alpha``, ``k`` or ``prune_ratio``."""
        return replace(self, model=self.model.with_settings(**changes))

    def with_precision(self, precision: str) -> SpadeEncoder:
        """Return an encoder with another precision, which the device must support."""
        check_precision(precision, self.device)
        return replace(self, precision=precision)

    def unchecked_precision(self, precision: str) -> SpadeEncoder:
        """Return an encoder with another precision; does not check that the device supports it."""
        return replace(self, precision=precision)

    def expansion_only(self) -> SpadeEncoder:
        """Return an encoder that computes only expansion vectors, without pruning.

        Corpus-level pruning uses it to decide which terms to remove. Its fingerprint does not
        depend on the settings of this encoder that cannot change the decision, such as ``alpha``.
        """
        plain = self.with_settings(
            alpha=1.0, prune_ratio=0.0, saturate=False, scale=None, bits=8, trained=True
        )
        # All machines use the same precision; workers may have other devices than this process.
        return replace(plain, precision="fp32", removed=())

    def for_corpus(
        self, counts: TermCounts | None, removed: tuple[RemovedTerm, ...] = ()
    ) -> SpadeEncoder:
        """Return an encoder for a corpus with these document frequencies and removed terms."""
        return replace(self, counts=counts, removed=removed)

    def to(self, device: str | torch.device) -> SpadeEncoder:
        """Return a copy on another device, or this encoder if it is there already."""
        if str(self.device) == str(device):
            return self
        return replace(self, model=move(copy.deepcopy(self.model), device))

    def cpu(self) -> SpadeEncoder:
        """Return a copy on the CPU, or this encoder if it is there already."""
        return self.to("cpu")

    def check_precision(self) -> None:
        """Raise `UsageError` if the precision is not supported, or not useful, on the device."""
        check_precision(self.precision, self.device)

    # From WordPiece ids to vectors

    def cut_documents(self, texts: list[str]) -> list[DocumentIds]:
        """Tokenize documents and cut them to ``max_length`` ids, see `DocumentIds`."""
        return self.wordpieces.cut_documents(texts, self.config.max_length)

    def characters_read(self, text: str) -> int:
        """Return how many characters of a text, from its start, the model reads."""
        return self.wordpieces.end_of(text, *self.cut_documents([text]))

    def columns(self, batch: list[list[int]]) -> Sequence[str]:
        """Return the terms of the columns that `weigh` returns: all terms of the vocabulary."""
        return self.wordpieces.terms

    def fixed(self) -> AbstractContextManager[None]:
        """Return a context manager for encoding many batches.

        In the ``with`` block, the output layer of the expansion encoder is computed only once. The
        weights of the model must not change in the block.
        """
        return self.model.expansion.fixed(self.model.kept)

    @torch.inference_mode()
    def components(self, batch: list[list[int]]) -> tuple[Tensor, Tensor]:
        """Encode documents given as WordPiece ids, with [CLS] and [SEP].

        Returns the weighting and the expansion vectors, [batch, |V|] each. They are multiplied by
        the query weights and the corpus weights (idf) of the terms. In the expansion vectors, the
        terms that corpus-level pruning removes are zero. Both vectors of a document without any
        known WordPiece are zero: [CLS] and [SEP] alone do not describe its content.
        """
        with autocast(self.precision, self.device):
            weighting, expansion = self.model(*pad_batch(batch, self.device))
        own = self._finish(weighting, self._corpus_weights, batch)
        return own, self._finish(expansion, self._expansion_weights, batch)

    def aggregate(self, weighting: Tensor, expansion: Tensor) -> Tensor:
        """Combine the two vectors of each document (Eq. 10) and prune them, [batch, |V|]."""
        return self.model.aggregate(weighting, expansion)

    @torch.inference_mode()
    def weigh(self, batch: list[list[int]]) -> Tensor:
        """Encode documents given as WordPiece ids into float vectors, [batch, |V|].

        With an alpha of 0 or 1, only one encoder has an effect, and only this encoder is run.
        """
        alpha = self.config.alpha
        if 0 < alpha < 1:
            return self.aggregate(*self.components(batch))
        model = self.model
        vectors_of = model.expansion_vectors if alpha else model.weighting_vectors
        with autocast(self.precision, self.device):
            vectors = vectors_of(*pad_batch(batch, self.device))
        weights = self._expansion_weights if alpha else self._corpus_weights
        finished = self._finish(vectors, weights, batch)
        if self.config.saturate:
            finished.log1p_()
        return drop_small_weights(finished, self.config.prune_ratio)

    def _finish(self, vectors: Tensor, weights: Tensor, batch: list[list[int]]) -> Tensor:
        """Multiply the vectors of an encoder by the weights of the terms, and check the result.

        The vector of a document without any known WordPiece becomes zero.
        """
        vectors = vectors.float().mul_(self.model.query_weights * weights)
        if not torch.isfinite(vectors).all():
            raise ArtifactError(
                "the model returned NaN or infinite weights; use precision fp32, or another model"
            )
        special = self.wordpieces.special_ids
        vectors[[row for row, ids in enumerate(batch) if special.issuperset(ids)]] = 0
        return vectors

    @cached_property
    def _corpus_weights(self) -> Tensor:
        """The weight of each term in the corpus, [|V|]."""
        return corpus_weights(self.model, self.counts)

    @cached_property
    def _expansion_weights(self) -> Tensor:
        """The weight of each term in expansion vectors, [|V|]: 0 for the removed terms."""
        removed = [self.wordpieces.term_ids[term.term] for term in self.removed]
        weights = self._corpus_weights.clone()
        weights[removed] = 0
        return weights

    # From vectors to impacts by term

    def impacts(self, weights: Tensor, scale: float) -> list[dict[str, int]]:
        """Quantize float vectors [batch, |V|] to impacts by term, without zeros."""
        quantized = quantize(weights, scale, self.config.bits)
        return [self.named(vector) for vector in sparse(quantized)]

    def named(self, vector: SparseVector) -> dict[str, Any]:
        """Return a sparse vector as a dictionary from terms to values."""
        return named(self.wordpieces.terms, vector)

    @overload
    def encode(self, texts: str, batch_size: int = 32) -> dict[str, int]: ...

    @overload
    def encode(self, texts: list[str], batch_size: int = 32) -> list[dict[str, int]]: ...

    @overload
    def encode(
        self, texts: str | list[str], batch_size: int = 32
    ) -> dict[str, int] | list[dict[str, int]]: ...

    def encode(
        self, texts: str | list[str], batch_size: int = 32
    ) -> dict[str, int] | list[dict[str, int]]:
        """Return the impacts by term: a list for several texts, one dictionary for a string.

        A model without a scale is calibrated on these texts. Corpus-level pruning is not
        applied unless `for_corpus` was called: a few texts do not show which terms are noise.
        """
        if isinstance(texts, str):
            return self.encode([texts], batch_size)[0]
        ids = self.wordpieces.document_ids(texts, self.config.max_length)
        starts = range(0, len(ids), batch_size)
        with self.fixed():
            weights = [self.weigh(ids[start : start + batch_size]) for start in starts]
        largest = max((part.max().item() for part in weights), default=0.0)
        scale = self.config.scale or calibrate(largest, self.config.bits)
        return [vector for part in weights for vector in self.impacts(part, scale)]

    @torch.inference_mode()
    def explain(self, text: str) -> TermWeights:
        """Return the terms of a text's vector, the largest impact first.

        Each term has the parts of its impact that come from the two encoders. A model without a
        scale is calibrated on this text.
        """
        (ids,) = self.wordpieces.document_ids([text], self.config.max_length)
        weighting, expansion = self.components([ids])
        weights = self.aggregate(weighting, expansion)
        scale = self.config.scale or calibrate(weights.max().item(), self.config.bits)
        parts = split_impacts(weighting, expansion, weights, self.config.alpha)
        own, added = (self.named(vector) for vector in sparse(parts * scale))
        in_document = {self.wordpieces.terms[term_id] for term_id in ids}
        form_of = self._origins([term for term in own if term not in in_document], ids)
        terms = [
            TermWeight(
                term,
                term in in_document,
                own.get(term, 0.0),
                added.get(term, 0.0),
                impact,
                form_of.get(term, ()),
            )
            for term, impact in self.impacts(weights, scale)[0].items()
        ]
        return TermWeights(sorted(terms, key=lambda term: -term.impact))

    def _origins(self, terms: list[str], ids: list[int]) -> dict[str, tuple[str, ...]]:
        """Return, for each of these terms, the words of a document that it is a form of."""
        forms = self.model.forms
        if forms is None:
            return {}
        whole_in = self.model.continues if self.config.whole_word_forms else None
        words = words_with_forms(ids, forms, whole_in)
        numbers = {term: int(forms[self.wordpieces.term_ids[term]]) for term in terms}
        return {
            term: tuple(self.wordpieces.terms[word] for word in sorted(words.get(number, ())))
            for term, number in numbers.items()
        }

    def expand(self, text: str) -> Expansion:
        """Return the terms of a text's vector, grouped by the effect of expansion.

        The groups are the terms that expansion added to the text, the terms whose impact expansion
        raised, and all other terms. Table 7 of the paper lists such terms for example documents.
        """
        return Expansion.of(self.explain(text))
