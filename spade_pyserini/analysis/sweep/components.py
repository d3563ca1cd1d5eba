"""Compute impact vectors for other settings from saved components, without the model.

The components of a document are the vectors that the model's two encoders give for it, before they
are combined.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from spade_pyserini.encode.task import clipped, write_vectors
from spade_pyserini.formats.components import ComponentVector, read_components
from spade_pyserini.formats.query_side import load_weights, save_weights
from spade_pyserini.formats.vector_manifest import LENGTHS, VectorManifest, tokenizer_path
from spade_pyserini.models.aggregation import mix
from spade_pyserini.models.pruning import drop_small_weights
from spade_pyserini.models.quantize import calibrate, quantize
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.progress import progress_bar
from spade_pyserini.records import ImpactVector

SPARE = 10_000  # columns to add at a time for terms that are not WordPieces


class Components:
    """The components of the vectors in ``source``, with statistics from one pass over them.

    frequency: for each term, the number of documents whose expansion vector has it.
    largest [alphas, |V|]: the largest weight of each term at each alpha.
    """

    def __init__(self, source: Path, alphas: Sequence[float]) -> None:
        self.source, self.alphas = source, list(dict.fromkeys(alphas))
        self.manifest = VectorManifest.load(source)
        self.wordpieces = WordPieces.load(tokenizer_path(source))
        # A term that is a word, not a WordPiece, gets the next free number when it first occurs.
        self._term_ids = {term: term_id for term_id, term in enumerate(self.wordpieces.terms)}
        self.frequency: Counter[str] = Counter()
        self.largest = torch.zeros(len(self.alphas), len(self._term_ids))
        total = self.manifest.documents
        for vector in progress_bar(
            read_components(source), "reading components", "documents", total
        ):
            self.frequency.update(vector.expansion.keys())
            terms = self._terms(vector)
            term_ids = [self._term_ids.setdefault(term, len(self._term_ids)) for term in terms]
            if (missing := len(self._term_ids) - self.largest.shape[1]) > 0:
                self.largest = functional.pad(self.largest, (0, missing + SPARE))
            for row, alpha in zip(self.largest, self.alphas, strict=True):
                row[term_ids] = torch.maximum(row[term_ids], self._weights(vector, terms, alpha))

    def frequent(self, gamma: float) -> set[str]:
        """Return the terms that occur in more than a share gamma of the expansion vectors."""
        limit = gamma * self.manifest.documents
        return {term for term, count in self.frequency.items() if count > limit}

    def scale(self, alpha: float, removed: set[str]) -> float:
        """Return the scale that maps the largest weight of all documents to the largest impact."""
        largest = self.largest[self.alphas.index(alpha)].clone()
        largest[[self._term_ids[term] for term in removed]] = 0
        return calibrate(largest.max().item(), self.manifest.settings.bits)

    def write_vectors(
        self,
        folder: Path,
        alpha: float,
        removed: set[str],
        scale: float,
        prune_ratio: float | None = None,
    ) -> VectorManifest:
        """Write the vectors of all documents, with their manifest and tokenizer.

        No vector has the terms ``removed``, even if the text of the document contains them. If
        ``prune_ratio`` is None, the ratio of the encoding is used.
        """
        bits = self.manifest.settings.bits
        settings = replace(self.manifest.settings, alpha=alpha, scale=scale)
        if prune_ratio is not None:
            settings = replace(settings, prune_ratio=prune_ratio)
        components = read_components(self.source)
        shards = []
        for number, shard in enumerate(self.manifest.shards):
            vectors, too_large = [], 0
            for vector in itertools.islice(components, shard.documents):
                terms = self._terms(vector, removed)
                weights = self._weights(vector, terms, alpha)
                if terms:
                    weights = drop_small_weights(weights, settings.prune_ratio)
                too_large += clipped(weights, scale, bits)
                pairs = zip(terms, quantize(weights, scale, bits).tolist(), strict=True)
                impacts = {term: impact for term, impact in pairs if impact}
                vectors.append(ImpactVector(vector.docid, impacts))
            written = write_vectors(folder, number, vectors, too_large, shard.input_sha256)
            shards.append(replace(written, **{name: getattr(shard, name) for name in LENGTHS}))
        self.wordpieces.save(tokenizer_path(folder))
        save_weights(folder, self.manifest.query, load_weights(self.source, self.manifest.query))
        manifest = replace(self.manifest, settings=settings, shards=shards, complete=True)
        manifest.save(folder)
        return manifest

    def _terms(self, vector: ComponentVector, removed: set[str] | None = None) -> list[str]:
        """Return the document's terms without ``removed``, in the order of the vocabulary."""
        terms = (vector.weighting.keys() | vector.expansion.keys()) - (removed or set())
        last = len(self._term_ids)
        return sorted(terms, key=lambda term: (self._term_ids.get(term, last), term))

    def _weights(self, vector: ComponentVector, terms: list[str], alpha: float) -> Tensor:
        """Return the weights of ``terms`` (Eq. 10), [terms], as 32-bit floats like the model's."""
        weighting = torch.tensor([vector.weighting.get(term, 0.0) for term in terms])
        expansion = torch.tensor([vector.expansion.get(term, 0.0) for term in terms])
        return mix(weighting, expansion, alpha, self.manifest.settings.saturate)
