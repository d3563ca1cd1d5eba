"""SpaDE in PyTerrier: transformers that encode documents and queries, and an index.

    from spade_pyserini.integrations.pyterrier import SpadeEncoder, SpadeIndex

    index = SpadeIndex("index/texts.pt")
    (SpadeEncoder("spade-mini") >> index.indexer()).index(documents)   # docno and text
    pt.Experiment([index.retriever()], topics, qrels, ["ndcg_cut_10"])

Import this module before PyTerrier starts Java, because this package must start Java with
Anserini's classes. Terrier's own indexes cannot be searched in the same process. For BM25,
`SpadeIndex` also opens a BM25 index of this package.

PyTerrier is an optional dependency: ``pip install 'spade_pyserini[pyterrier]'``.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas

from spade_pyserini.encode.counts_file import check_counts_file, fit_encoder
from spade_pyserini.errors import NotFoundError, UsageError
from spade_pyserini.formats.paths import location
from spade_pyserini.formats.query_side import NEURAL
from spade_pyserini.formats.temporary import temporary_folder
from spade_pyserini.formats.vectors import write_shard
from spade_pyserini.index import build_foreign_index
from spade_pyserini.integrations.memory import Model, as_encoder, encode_documents
from spade_pyserini.integrations.pyterrier_artifact import (
    FORMAT,
    TYPE,
    index_folder,
    package_files,
)
from spade_pyserini.lucene import jvm
from spade_pyserini.models.hub import DEFAULT, UNTRAINED, resolve_model
from spade_pyserini.models.protocols import needs_counts
from spade_pyserini.models.queries import BooleanQueries, QueryEncoder
from spade_pyserini.models.systems.loading import load_queries
from spade_pyserini.models.systems.recognise import SPADE, recognise
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.records import Document, ImpactVector, Topic
from spade_pyserini.search.base import check_hits
from spade_pyserini.search.open import open_searcher

jvm.start()  # PyTerrier would start Java without Anserini's classes

try:
    import pyterrier as pt
except ModuleNotFoundError:
    raise NotFoundError(
        "PyTerrier is not installed: pip install 'spade_pyserini[pyterrier]'"
    ) from None


class SpadeEncoder(pt.Transformer):  # type: ignore[misc]
    """Encodes documents: reads a column of texts, writes the impacts to the column ``toks``.

    model: the name or folder of a model, or a loaded model. It must have a quantization scale.
    text_field: the column with the texts.
    counts: the document frequencies of a corpus (``.counts.json``), for a model that uses them.
        Without this file, the model uses the document frequencies of its training documents,
        because a pipeline never sees the complete corpus.
    """

    def __init__(
        self, model: Model = DEFAULT, *, text_field: str = "text", counts: str | Path | None = None
    ) -> None:
        self.encoder, self.text_field = as_encoder(model), text_field
        scale = self.encoder.config.scale
        if not scale:
            message = "the model has no scale, so each batch would be quantized differently"
            raise UsageError(f"{message}; set one with model.with_settings(scale=NUMBER)")
        self.scale: float = scale
        if counts is not None:
            check_counts_file(location(counts), self.encoder)
            if needs_counts(self.encoder):
                self.encoder = fit_encoder(self.encoder, location(counts))

    def transform(self, inp: pandas.DataFrame) -> pandas.DataFrame:
        """Return the frame with the column ``toks``: a dictionary of terms and impacts."""
        pt.validate.columns(inp, includes=[self.text_field])
        documents = [Document("", "", text) for text in inp[self.text_field]]
        return inp.assign(toks=list(encode_documents(self.encoder, documents, self.scale)))


class SpadeQueryEncoder(pt.Transformer):  # type: ignore[misc]
    """Encodes queries: reads the column ``query``, writes term weights to ``query_toks``.

    This is for engines that take ``query_toks``, such as PISA; `SpadeIndex` encodes queries itself.
    For a SpaDE model, only the tokenizer is loaded.
    """

    def __init__(self, model: str | Path = DEFAULT) -> None:
        self.queries = _queries(model)

    def transform(self, inp: pandas.DataFrame) -> pandas.DataFrame:
        """Return the frame with the column ``query_toks``: a dictionary of terms and weights."""
        pt.validate.query_frame(inp, extra_columns=["query"])
        vectors = self.queries.encode(list(inp["query"]))
        weights = [{term: float(weight) for term, weight in vector.items()} for vector in vectors]
        return inp.assign(query_toks=weights)


def _queries(name: str | Path) -> QueryEncoder:
    if str(name) != UNTRAINED and recognise(folder := resolve_model(name)) == SPADE:
        return BooleanQueries(WordPieces.load(folder))
    return load_queries(name)


class SpadeIndex(pt.Artifact):  # type: ignore[misc]
    """An index of this package: an impact index, or a BM25 index to compare it with.

    ``pt.Artifact.load`` recognizes such an index. PyTerrier's ``build_package``, ``to_hf`` and
    ``from_hf`` pack, upload and download it.
    """

    ARTIFACT_TYPE = TYPE
    ARTIFACT_FORMAT = FORMAT

    def __init__(self, path: str | Path) -> None:
        super().__init__(str(path))
        self.folder = index_folder(Path(path))

    def _package_files(self) -> Iterator[tuple[str, str | io.BytesIO]]:
        for name, source in package_files(self.folder):
            yield name, io.BytesIO(source) if isinstance(source, bytes) else str(source)

    def retriever(self, num_results: int = 1000, threads: int = 1) -> SpadeRetriever:
        """Return a transformer that searches the index for the column ``query``."""
        return SpadeRetriever(self, num_results, threads)

    def indexer(self, model: str | Path = DEFAULT, *, overwrite: bool = False) -> SpadeIndexer:
        """Return an indexer of documents with ``docno`` and ``toks``; see `SpadeEncoder`.

        ``model`` is the model that encoded the documents; its tokenizer will split the queries.
        """
        return SpadeIndexer(self, model, overwrite=overwrite)

    @cached_property
    def searcher(self) -> Any:
        """The searcher of the index, which stays open as long as this object exists."""
        return open_searcher(self.folder)


class SpadeIndexer(pt.Indexer):  # type: ignore[misc]
    """Builds an impact index from documents with ``docno`` and ``toks``."""

    def __init__(self, index: SpadeIndex, model: str | Path, *, overwrite: bool = False) -> None:
        if _queries(model).side.kind == NEURAL:
            message = f"queries of {model} need a neural model, which this indexer cannot record"
            raise UsageError(f"{message}; use `spade encode` and `spade index`")
        self.spade_index, self.model, self.overwrite = index, model, overwrite

    def index_inputs(self) -> list[list[str]]:
        """Return the columns that documents must have."""
        return [["docno", "toks"]]

    def index(self, iter: Iterable[Mapping[str, Any]], **_: Any) -> SpadeIndex:
        """Build the index and return it. All vectors are in memory while it is built."""
        folder = self.spade_index.folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        vectors = [_vector(row, number) for number, row in enumerate(iter, start=1)]
        with temporary_folder(folder) as temporary:
            source = temporary / folder.name  # the index manifest records the name of this folder
            source.mkdir()
            write_shard(source, 0, vectors)
            tokenizer = resolve_model(self.model)
            build_foreign_index(source, folder, tokenizer, overwrite=self.overwrite)
        self.spade_index.__dict__.pop("searcher", None)
        return self.spade_index


def _vector(row: Mapping[str, Any], number: int) -> ImpactVector:
    for name in ("docno", "toks"):
        if name not in row:
            message = f"document {number} has no {name}; give documents with docno and text to"
            raise UsageError(f"{message} `SpadeEncoder() >> index.indexer()`, which adds toks")
    return ImpactVector(row["docno"], row["toks"])


class SpadeRetriever(pt.Transformer):  # type: ignore[misc]
    """Searches an index: reads ``qid`` and ``query``, returns ``docno``, ``score`` and ``rank``."""

    def __init__(self, index: SpadeIndex, num_results: int = 1000, threads: int = 1) -> None:
        self.spade_index, self.threads = index, threads
        self.num_results = check_hits(num_results)

    def fuse_rank_cutoff(self, k: int) -> SpadeRetriever | None:
        """Return a retriever for ``self % k``; None if ``self`` returns at most ``k`` hits."""
        return SpadeRetriever(self.spade_index, k, self.threads) if k < self.num_results else None

    def transform(self, inp: pandas.DataFrame) -> pandas.DataFrame:
        """Return a row for each hit, with the columns of its query; ranks count from 0."""
        pt.validate.query_frame(inp, extra_columns=["query"])
        topics = [Topic(str(n), text) for n, text in enumerate(inp["query"])]
        searcher = self.spade_index.searcher
        rankings = searcher.batch_search(topics, self.num_results, self.threads)
        hits = [
            (position, hit.docid, float(hit.score), rank)
            for position, ranking in enumerate(rankings)
            for rank, hit in enumerate(ranking.hits)
        ]
        columns = ["position", "docno", "score", "rank"]
        frame = pandas.DataFrame(hits, columns=columns).astype({"score": float, "rank": int})
        queries = inp.drop(columns=[name for name in columns if name in inp])
        repeated = queries.iloc[frame["position"].astype(int)].reset_index(drop=True)
        return pandas.concat([repeated, frame.drop(columns="position")], axis=1)
