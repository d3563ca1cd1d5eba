"""`SystemEncoder`: the document encoder of all systems in this package."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from spade_pyserini.errors import ArtifactError, UsageError
from spade_pyserini.formats.digests import non_default_fields
from spade_pyserini.models.devices import move
from spade_pyserini.models.explanation import TermWeight, TermWeights
from spade_pyserini.models.fingerprint import weights_fingerprint
from spade_pyserini.models.precision import autocast, check_precision
from spade_pyserini.models.pruning import drop_small_weights
from spade_pyserini.models.quantize import calibrate, quantize
from spade_pyserini.models.queries import QueryEncoder
from spade_pyserini.models.systems.system import System
from spade_pyserini.models.tensors import named, pad_batch, sparse
from spade_pyserini.models.wordpieces import DocumentIds, WordPieces
from spade_pyserini.records import RemovedTerm


@dataclass(frozen=True)
class SystemConfig:
    """The settings of a system; implements the interface `EncoderConfig`.

    max_length: number of tokens of a document that are read.
    bits: the size of an impact in bits.
    scale: the impact of a weight of 1; None to calibrate it on the corpus.
    prune_ratio: terms below this fraction of the document's largest weight are dropped.
    prompt: text before every document.
    """

    max_length: int
    bits: int = 8
    scale: float | None = None
    prune_ratio: float = 0.0
    prompt: str = ""

    def __post_init__(self) -> None:
        if self.max_length < 3:
            raise UsageError(f"max_length must be 3 or more, not {self.max_length}")
        if not 0 <= self.prune_ratio < 1:
            raise UsageError(f"prune_ratio must be from 0 to below 1, not {self.prune_ratio}")
        if not 1 <= self.bits <= 16:
            raise UsageError(f"bits must be from 1 to 16, not {self.bits}")

    @property
    def alpha(self) -> float:
        """Always 0.5: these systems do not have this setting."""
        return 0.5

    @property
    def k(self) -> int:
        """Always 0: the number of terms that a token adds has no limit."""
        return 0

    @property
    def saturate(self) -> bool:
        """False: a system that saturates weights does so in its own equation."""
        return False

    @property
    def corpus_gamma(self) -> float:
        """0: there is no corpus-level pruning."""
        return 0.0

    @property
    def trained(self) -> bool:
        """True: the models that can be loaded are trained."""
        return True


@dataclass(frozen=True, eq=False)
class SystemEncoder:
    """A system with its settings, its query encoder and the precision of the computation.

    An encoder is immutable: `with_settings`, `with_precision` and `to` return a new one. It can be
    pickled, for worker processes. Impacts are quantized as in `SpadeEncoder`.

    longest: the largest ``max_length`` that the model allows.
    """

    model: System
    config: SystemConfig
    queries: QueryEncoder
    longest: int
    precision: str = "fp32"

    # Properties

    @property
    def system(self) -> str:
        """The name of the system."""
        return self.model.name

    @property
    def wordpieces(self) -> WordPieces:
        """The tokenizer."""
        return self.model.wordpieces

    @property
    def fingerprint(self) -> str:
        """A digest of system, settings, tokenizer, weights and query encoder."""
        parts = [self.system, self.model.settings, non_default_fields(self.config)]
        digest = hashlib.sha256(repr(parts).encode())
        digest.update(self.wordpieces.fingerprint.encode())
        digest.update(weights_fingerprint(self.model).encode())
        side = self.queries.side
        digest.update(repr([side.kind, side.fingerprint, side.prompt]).encode())
        return digest.hexdigest()

    @property
    def device(self) -> torch.device:
        """The device that the weights are on."""
        return self.model.kept.device

    @property
    def needs_counts(self) -> bool:
        """False: vectors do not depend on the corpus."""
        return False

    @property
    def removed(self) -> tuple[RemovedTerm, ...]:
        """Empty: there is no corpus-level pruning."""
        return ()

    # Other encoders with the same weights

    def with_settings(self, **changes: Any) -> SystemEncoder:
        """Return an encoder with another ``max_length``, ``prune_ratio``, ``bits`` or ``scale``."""
        names = {field.name for field in fields(SystemConfig)} - {"prompt"}
        # Settings with a fixed value, such as alpha, are accepted if the value is the same.
        wrong = [
            name
            for name, value in changes.items()
            if name not in names and value != getattr(self.config, name, None)
        ]
        if wrong:
            message = f"the system {self.system} has no setting {wrong[0]}"
            raise UsageError(f"{message}; it has {', '.join(sorted(names))}")
        kept = {name: value for name, value in changes.items() if name in names}
        config = replace(self.config, **kept)
        if config.max_length > self.longest:
            message = f"max_length is {config.max_length}, but the model reads at most"
            raise UsageError(f"{message} {self.longest} WordPieces")
        return replace(self, config=config)

    def with_precision(self, precision: str) -> SystemEncoder:
        """Return an encoder with another precision, which the device must support."""
        check_precision(precision, self.device)
        return replace(self, precision=precision)

    def unchecked_precision(self, precision: str) -> SystemEncoder:
        """Return an encoder with another precision; does not check that the device supports it."""
        return replace(self, precision=precision)

    def to(self, device: str | torch.device) -> SystemEncoder:
        """Return a copy on another device, or this encoder if it is there already."""
        if str(self.device) == str(device):
            return self
        return replace(self, model=move(copy.deepcopy(self.model), device))

    def check_precision(self) -> None:
        """Raise `UsageError` if the precision is not supported, or not useful, on the device."""
        check_precision(self.precision, self.device)

    def fixed(self) -> AbstractContextManager[None]:
        """Return a context manager that does nothing, because no weights have to be prepared."""
        return nullcontext()

    # From texts to vectors

    def cut_documents(self, texts: list[str]) -> list[DocumentIds]:
        """Tokenize documents and cut them to ``max_length`` ids, see `DocumentIds`."""
        wordpieces, length = self.wordpieces, self.config.max_length
        prompted = [self.config.prompt + text for text in texts]
        documents = wordpieces.cut_documents(prompted, length)
        if not self.model.terms_are_words or not any(document.left_out for document in documents):
            return documents
        longer = wordpieces.document_ids(prompted, length + 1)
        return [
            _without_part_of_word(document, ids, wordpieces) if document.left_out else document
            for document, ids in zip(documents, longer, strict=True)
        ]

    def characters_read(self, text: str) -> int:
        """Return how many characters of a text, from its start, the model reads."""
        prompt = self.config.prompt
        end = self.wordpieces.end_of(prompt + text, *self.cut_documents([text]))
        return max(0, end - len(prompt))

    def columns(self, batch: list[list[int]]) -> Sequence[str]:
        """Return the terms of the columns that `weigh` returns."""
        return self.model.columns(batch)

    @torch.inference_mode()
    def _weights(self, batch: list[list[int]]) -> Tensor:
        """Encode documents without pruning, [batch, n].

        The vector of a document that consists of special tokens is zero.
        """
        with autocast(self.precision, self.device):
            vectors: Tensor = self.model(*pad_batch(batch, self.device)).float()
        if self.model.query_weights is not None:
            vectors = vectors * self.model.query_weights
        if not torch.isfinite(vectors).all():
            raise ArtifactError(
                "the model returned NaN or infinite weights; use precision fp32, or another model"
            )
        special = self.wordpieces.special_ids
        vectors[[row for row, ids in enumerate(batch) if special.issuperset(ids)]] = 0
        return vectors

    def weigh(self, batch: list[list[int]]) -> Tensor:
        """Encode documents given as WordPiece ids into float vectors, [batch, n]."""
        return self._prune(self._weights(batch))

    def components(self, batch: list[list[int]]) -> tuple[Tensor, Tensor]:
        """Return two tensors [batch, n]: weights of the texts' own terms, and of added terms."""
        weights, own = self._weights(batch), self.model.own_terms(batch)
        return weights * own, weights * ~own

    def aggregate(self, weighting: Tensor, expansion: Tensor) -> Tensor:
        """Add the vectors of `components` and prune the sum, [batch, n]."""
        return self._prune(weighting + expansion)

    def _prune(self, weights: Tensor) -> Tensor:
        """Drop small weights; a tensor without columns (no document has a word) is not changed."""
        return drop_small_weights(weights, self.config.prune_ratio) if weights.numel() else weights

    # From vectors to impacts by term

    def encode(self, texts: list[str], batch_size: int = 32) -> list[dict[str, int]]:
        """Return the impacts of each text by term.

        If the scale in ``config`` is None, it is calibrated on these texts.
        """
        ids = [document.ids for document in self.cut_documents(texts)]
        batches = [ids[start : start + batch_size] for start in range(0, len(ids), batch_size)]
        weights = [self.weigh(batch) for batch in batches]
        scale = self._scale_for(weights)
        return [
            named(self.columns(batch), vector)
            for batch, part in zip(batches, weights, strict=True)
            for vector in sparse(quantize(part, scale, self.config.bits))
        ]

    def explain(self, text: str) -> TermWeights:
        """Return the terms of a text's vector with their origin, the largest impact first."""
        batch = [self.cut_documents([text])[0].ids]
        own, added = self.components(batch)
        weights, terms = self.aggregate(own, added), self.columns(batch)
        scale = self._scale_for([weights])
        impacts = named(terms, sparse(quantize(weights, scale, self.config.bits))[0])
        of_text = named(terms, sparse(own * scale)[0])
        of_model = named(terms, sparse(added * scale)[0])
        explained = [
            TermWeight(
                term, term in of_text, of_text.get(term, 0.0), of_model.get(term, 0.0), impact
            )
            for term, impact in impacts.items()
        ]
        return TermWeights(sorted(explained, key=lambda term: -term.impact))

    def _scale_for(self, weights: list[Tensor]) -> float:
        largest = max((part.max().item() for part in weights if part.numel()), default=0.0)
        return self.config.scale or calibrate(largest, self.config.bits)


def _without_part_of_word(
    document: DocumentIds, longer: list[int], wordpieces: WordPieces
) -> DocumentIds:
    """Remove the last WordPieces of a document that was cut inside a word.

    ``longer`` has the ids of the same document with one more WordPiece, which decides whether the
    cut is inside a word. A part of a word must not count as a word.
    """
    ids, end = document.ids, len(document.ids) - 1  # the last id stands for [SEP]
    if longer[end] not in wordpieces.continuation_ids:
        return document
    start = end - 1
    while start > 1 and ids[start] in wordpieces.continuation_ids:
        start -= 1
    shorter = [*ids[:start], ids[end]]
    return DocumentIds(shorter, document.length, document.left_out + len(ids) - len(shorter))
