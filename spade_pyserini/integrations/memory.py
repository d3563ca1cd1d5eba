"""Rank a few hundred documents in memory, without files and without Java.

    from spade_pyserini import rank

    rank("remove folders", ["The recipe needs two eggs.", "Recursively delete a directory tree."])

The scores are those of an index of the same documents: they are counted, encoded in the same
batches, and quantized as `encode_corpus` does it with its default options.
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
    """A document with a score, the text, and the terms that make up the score, largest first."""

    docid: str
    score: int
    matched: dict[str, int]
    text: str


class MemoryRanker:
    """Documents that were encoded once, to rank them for several queries.

        ranker = MemoryRanker({"a": "Heavy rain closed the airport.", "b": "Two eggs and flour."})
        ranker.rank("flights cancelled because of a storm")

    documents: texts, whose ids are their positions from 0; texts by id; or `Document` records.
    model: the name or folder of a model, or a loaded one.
    counts: the term counts of another corpus, ``OTHER.counts.json`` next to its vectors. Without
        them, a model that uses the document frequencies of the corpus (``corpus_idf``) counts the
        given documents. Scores are then those of an index that has exactly these documents.
    """

    def __init__(
        self, documents: Documents, model: Model = DEFAULT, *, counts: str | Path | None = None
    ) -> None:
        corpus = in_memory_corpus(documents)
        self.documents = list(corpus)
        self._encoder, scale = _fit(as_encoder(model), corpus, counts)
        self._vectors = list(encode_documents(self._encoder, self.documents, scale))

    def rank(self, query: str, k: int | None = None) -> HitList[RankedHit]:
        """Return the ``k`` best documents, all by default, without those that match no term.

        They are ordered by score, and by id if their scores are equal.
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

    ``documents`` are texts, whose ids are their positions from 0; texts by id; or `Document`
    records. ``model`` is the name or folder of a model, or a loaded one. Returns the ``k`` best,
    all by default; documents that match no term are left out. Scores, and their order, are those of
    an index of the same documents. A model that uses the document frequencies of the corpus counts
    the given documents, or reads those of another corpus from the file ``counts``.

    Each call encodes all documents. Use `spade_pyserini.integrations.memory.MemoryRanker` for
    several queries, and an index for more than some hundred documents.
    """
    return MemoryRanker(documents, model, counts=counts).rank(query, k)


def in_memory_corpus(documents: Documents) -> Corpus:
    """Return a corpus of texts in memory; they are checked when it is read."""
    if isinstance(documents, str):
        raise UsageError("documents=TEXT is a single text; give a list of texts")
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
        raise UsageError(f"{message}; give texts, or records of type Document")
    return Document(str(docid), "", entry)


def _read(records: list[Document], _: OnError) -> Iterator[LocatedDocument]:
    return number_documents(records, "documents")


def as_encoder(model: Model) -> DocumentEncoder:
    """Return the encoder of a model that is given by its name or folder, or loaded."""
    if isinstance(model, DualEncoder):
        return SpadeEncoder(model)
    return load_encoder(model) if isinstance(model, str | Path) else model


def _fit(
    encoder: DocumentEncoder, corpus: Corpus, counts: str | Path | None
) -> tuple[DocumentEncoder, float]:
    """Fit the encoder to the documents; return it and the scale of its impacts."""
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
    """Yield the impacts of each document; the batches are those of `encode_corpus`.

    The results of a batch depend on its padding, by less than rounding usually shows.
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
