"""Rank a few hundred documents in memory, without files and without Java.

    from spade_pyserini import rank

    rank("remove folders", ["The recipe needs two eggs.", "Recursively delete a directory tree."])

The scores are the same as those of an index of the documents: document frequencies, batches and
quantization are those of `encode_corpus` with its default options.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.corpora import Corpus
from spade_pyserini.corpora.checks import LocatedDocument, OnError, number_documents
from spade_pyserini.encode.batches import batches
from spade_pyserini.encode.calibration import calibrated_scale
from spade_pyserini.encode.corpus import SAMPLE
from spade_pyserini.encode.counts_file import check_counts_file, count_corpus, fit_encoder
from spade_pyserini.encode.options import BATCH_TOKENS, SHARD_SIZE
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.paths import location
from spade_pyserini.models.dual_encoder import DualEncoder
from spade_pyserini.models.encoder import SpadeEncoder
from spade_pyserini.models.hub import DEFAULT
from spade_pyserini.models.protocols import DocumentEncoder, needs_counts
from spade_pyserini.models.quantize import quantize
from spade_pyserini.models.systems.loading import load_encoder
from spade_pyserini.models.tensors import named, sparse
from spade_pyserini.records import Document, Topic
from spade_pyserini.search.base import check_hits, check_queries
from spade_pyserini.search.hits import HitList

Documents = Mapping[str, str] | Iterable[str | Document]
Model = str | Path | DualEncoder | DocumentEncoder


class RankedHit(NamedTuple):
    """A document with its score and text.

    matched: the contribution of each matching term to the score, the largest first.
    """

    docid: str
    score: int
    matched: dict[str, int]
    text: str


class MemoryRanker:
    """Encodes documents once, and ranks them for several queries.

        ranker = MemoryRanker({"a": "Heavy rain closed the airport.", "b": "Two eggs and flour."})
        ranker.rank("flights cancelled because of a storm")

    documents: a list of texts, whose ids are "0", "1", ...; a dictionary of texts by id; or a list
        of `Document` records.
    model: the name or folder of a model, or a loaded model.
    counts: document frequencies of another corpus, ``OTHER.counts.json`` next to its vectors.
        Without this file, a model that uses document frequencies (``corpus_idf``) counts them in
        ``documents``. Scores are then those of an index that has exactly these documents.
    """

    def __init__(
        self, documents: Documents, model: Model = DEFAULT, *, counts: str | Path | None = None
    ) -> None:
        corpus = in_memory_corpus(documents)
        self.documents = list(corpus)
        self._encoder, scale = _fit(as_encoder(model), corpus, counts)
        self._vectors = list(encode_documents(self._encoder, self.documents, scale))

    def rank(self, query: str, k: int | None = None) -> HitList[RankedHit]:
        """Return the ``k`` best documents that match a term; by default, all that match a term.

        The documents are ordered by score; documents with equal scores are ordered by id.
        """
        check_queries([Topic("query", query)])
        (weights,) = self._encoder.queries.encode([query])
        hits = []
        for document, impacts in zip(self.documents, self._vectors, strict=True):
            matched = {term: weights[term] * impacts[term] for term in weights if term in impacts}
            if matched:
                ordered = dict(sorted(matched.items(), key=lambda item: -item[1]))
                score = sum(matched.values())
                hits.append(RankedHit(document.docid, score, ordered, document.contents))
        hits.sort(key=lambda hit: (-hit.score, hit.docid))
        return HitList(hits if k is None else hits[: check_hits(k)])


def rank(
    query: str,
    documents: Documents,
    model: Model = DEFAULT,
    *,
    k: int | None = None,
    counts: str | Path | None = None,
) -> HitList[RankedHit]:
    """Encode documents and rank them for a query, without an index.

        hits = rank("remove folders", ["Two eggs and flour.", "Delete a directory tree."])
        hits[0].docid, hits[0].score, hits[0].matched

    ``documents`` is a list of texts, whose ids are "0", "1", ...; a dictionary of texts by id; or a
    list of `Document` records. ``model`` is the name or folder of a model, or a loaded model.
    Returns the ``k`` best documents, by default all; documents that match no term are left out.
    Scores and ranking are those of an index of the same documents. A model that uses document
    frequencies counts them in ``documents``, or reads those of another corpus from ``counts``.

    Each call encodes all documents. Use `spade_pyserini.integrations.memory.MemoryRanker` for
    several queries, and an index for more than a few hundred documents.
    """
    return MemoryRanker(documents, model, counts=counts).rank(query, k)


def in_memory_corpus(documents: Documents) -> Corpus:
    """Return a corpus of texts in memory; the texts are checked when the corpus is read."""
    if isinstance(documents, str):
        raise UsageError("documents is a single text; give a list of texts")
    pairs: Iterable[tuple[str, str | Document]]
    if isinstance(documents, Mapping):
        pairs = documents.items()
    else:
        pairs = ((str(position), entry) for position, entry in enumerate(documents))
    records = [_document(docid, entry) for docid, entry in pairs]
    return Corpus("memory", "documents", partial(_read, records))


def _document(docid: str, entry: object) -> Document:
    if isinstance(entry, Document):
        return entry
    if not isinstance(entry, str):
        message = f"document {docid} is of type {type(entry).__name__}"
        raise UsageError(f"{message}; give a str or a Document")
    return Document(str(docid), "", entry)


def _read(records: list[Document], _: OnError) -> Iterator[LocatedDocument]:
    return number_documents(records, "documents")


def as_encoder(model: Model) -> DocumentEncoder:
    """Return the encoder of a model, which is given by name or folder, or already loaded."""
    if isinstance(model, DualEncoder):
        return SpadeEncoder(model)
    return load_encoder(model) if isinstance(model, str | Path) else model


def _fit(
    encoder: DocumentEncoder, corpus: Corpus, counts: str | Path | None
) -> tuple[DocumentEncoder, float]:
    """Return the encoder with the document frequencies it needs, and the quantization scale."""
    if counts is not None:
        check_counts_file(location(counts), encoder)
    if needs_counts(encoder):
        if counts is None:
            counted = count_corpus(corpus, encoder)
            encoder = encoder.for_corpus(counted.counts, counted.removed)
        else:
            encoder = fit_encoder(encoder, location(counts))
    sample = [document.contents for document in itertools.islice(corpus, SAMPLE)]
    return encoder, encoder.config.scale or calibrated_scale(encoder, sample)


def encode_documents(
    encoder: DocumentEncoder, documents: list[Document], scale: float
) -> Iterator[dict[str, int]]:
    """Yield the impacts of each document, encoded in the same batches as by `encode_corpus`.

    Weights depend slightly on the padding of a batch, usually too little to change an impact.
    """
    for start in range(0, len(documents), SHARD_SIZE):
        texts = [document.contents for document in documents[start : start + SHARD_SIZE]]
        ids = [document.ids for document in encoder.cut_documents(texts)]
        vectors: list[dict[str, int]] = [{}] * len(ids)
        with encoder.fixed():
            for batch, indexes in batches(ids, BATCH_TOKENS):
                impacts = sparse(quantize(encoder.weigh(batch), scale, encoder.config.bits))
                columns = encoder.columns(batch)
                for index, vector in zip(indexes, impacts, strict=True):
                    vectors[index] = named(columns, vector)
        yield from vectors
