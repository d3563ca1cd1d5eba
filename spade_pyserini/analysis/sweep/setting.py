"""Vectors for another alpha and gamma, from the two encoders' components instead of a model."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from spade_pyserini.encode.task import clipped, write_vectors
from spade_pyserini.formats.components import ComponentVector, read_components
from spade_pyserini.formats.vectors import VectorManifest, tokenizer_path
from spade_pyserini.models.aggregation import mix
from spade_pyserini.models.quantize import calibrate, quantize
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.progress import progress_bar
from spade_pyserini.records import ImpactVector


class Components:
    """The components beside the vectors in ``source``, and what one look at all of them tells.

    ``frequency`` counts the documents whose expansion vector has a term; ``largest`` is a term's
    largest weight at each alpha, [alphas, |V|].
    """

    def __init__(self, source: Path, alphas: Sequence[float]) -> None:
        self.source, self.alphas = source, list(dict.fromkeys(alphas))
        self.manifest = VectorManifest.load(source)
        self.wordpieces = WordPieces.load(tokenizer_path(source))
        self._places = {term: place for place, term in enumerate(self.wordpieces.terms)}
        self.frequency: Counter[str] = Counter()
        self.largest = torch.zeros(len(self.alphas), len(self._places))
        total = self.manifest.documents
        for vector in progress_bar(read_components(source), "looking", "documents", total):
            self.frequency.update(vector.expansion.keys())
            terms = self._terms(vector)
            places = [self._places[term] for term in terms]
            for row, alpha in zip(self.largest, self.alphas, strict=True):
                row[places] = torch.maximum(row[places], self._weights(vector, terms, alpha))

    def frequent(self, gamma: float) -> set[str]:
        """Corpus-level pruning: the terms in more than gamma of the expansion vectors."""
        most = gamma * self.manifest.documents
        return {term for term, count in self.frequency.items() if count > most}

    def scale(self, alpha: float, removed: set[str]) -> float:
        """The scale that gives the largest weight of all documents the largest impact."""
        largest = self.largest[self.alphas.index(alpha)].clone()
        largest[[self._places[term] for term in removed]] = 0
        return calibrate(largest.max().item(), self.manifest.settings.bits)

    def write_vectors(
        self, folder: Path, alpha: float, removed: set[str], scale: float
    ) -> VectorManifest:
        """The vectors of all documents, with their manifest and tokenizer, as `encode` has them."""
        bits = self.manifest.settings.bits
        settings = replace(self.manifest.settings, alpha=alpha, scale=scale)
        components = read_components(self.source)
        shards = []
        for number, known in enumerate(self.manifest.shards):
            vectors, cut_off = [], 0
            for vector in itertools.islice(components, known.documents):
                terms = self._terms(vector, removed)
                weights = self._weights(vector, terms, alpha)
                cut_off += clipped(weights, scale, bits)
                impacts = zip(terms, quantize(weights, scale, bits).tolist(), strict=True)
                kept = {term: impact for term, impact in impacts if impact}
                vectors.append(ImpactVector(vector.docid, kept))
            shards.append(write_vectors(folder, number, vectors, cut_off, known.input_sha256))
        self.wordpieces.save(tokenizer_path(folder))
        manifest = VectorManifest(settings, self.manifest.trained, complete=True, shards=shards)
        manifest.save(folder)
        return manifest

    def _terms(self, vector: ComponentVector, removed: set[str] | None = None) -> list[str]:
        """A document's terms in the order of the vocabulary."""
        terms = (vector.weighting.keys() | vector.expansion.keys()) - (removed or set())
        return sorted(terms, key=self._places.__getitem__)

    def _weights(self, vector: ComponentVector, terms: list[str], alpha: float) -> Tensor:
        """Eq. 10 for these terms of a document, in 32 bits as the model does it."""
        weighting = torch.tensor([vector.weighting.get(term, 0.0) for term in terms])
        expansion = torch.tensor([vector.expansion.get(term, 0.0) for term in terms])
        return mix(weighting, expansion, alpha, self.manifest.settings.saturate)
