"""Encode and index documents that are in memory, and search them; used for BEIR and MTEB.

The vectors and the index are written to a folder::

    index/scifact.beir/vectors      the impacts of the documents
    index/scifact.beir/index        the Lucene index
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from spade_pyserini.encode import EncodeOptions, encode_corpus
from spade_pyserini.formats.query_side import NEURAL
from spade_pyserini.index import build_impact_index
from spade_pyserini.integrations.memory import in_memory_corpus
from spade_pyserini.models.protocols import DocumentEncoder
from spade_pyserini.records import Document, Topic
from spade_pyserini.search import ImpactSearcher, SearchOptions, search_topics

Scores = dict[str, dict[str, float]]


class Collection:
    """Documents that are encoded and indexed in a folder, and searched through Lucene.

    A second build with the same documents uses the vectors and the index again, and an interrupted
    encoding continues. If the folder has the vectors or the index of other documents, `build`
    raises an error or, if ``overwrite`` is true, replaces them.
    """

    def __init__(self, folder: Path, encoder: DocumentEncoder, *, overwrite: bool = False) -> None:
        self.folder, self.encoder, self.overwrite = folder, encoder, overwrite

    @property
    def index(self) -> Path:
        """The folder of the index."""
        return self.folder / "index"

    def build(self, documents: Iterable[Document]) -> None:
        """Encode and index documents."""
        vectors = self.folder / "vectors"
        options = EncodeOptions(overwrite=self.overwrite)
        encode_corpus(in_memory_corpus(documents), self.encoder, vectors, options)
        build_impact_index(vectors, self.index, overwrite=self.overwrite)

    def search(self, topics: list[Topic], hits: int, threads: int = 1) -> Scores:
        """Return the scores of the best documents by query id and document id."""
        options = SearchOptions(hits=hits, threads=threads)
        with self.searcher() as searcher:
            return {
                ranking.qid: {hit.docid: float(hit.score) for hit in ranking.hits}
                for ranking in search_topics(searcher, topics, options)
            }

    @contextmanager
    def searcher(self) -> Iterator[ImpactSearcher]:
        """Open the index; if queries need a neural model, ``encoder`` provides it."""
        neural = self.encoder.queries.side.kind == NEURAL
        make_queries = (lambda _: self.encoder.queries) if neural else None
        with ImpactSearcher(self.index, queries=make_queries) as searcher:
            yield searcher
