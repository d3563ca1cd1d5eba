"""SpaDE as a retriever of BEIR, through a Lucene index.

    from beir.retrieval.evaluation import EvaluateRetrieval
    from spade_pyserini.integrations.beir import SpadeSearch

    results = EvaluateRetrieval(SpadeSearch("index/scifact.beir")).retrieve(corpus, queries)

BEIR is an optional dependency: ``pip install 'spade_pyserini[beir]'``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spade_pyserini.encode import EncodeOptions, encode_corpus
from spade_pyserini.errors import NotFoundError, UsageError
from spade_pyserini.formats.query_side import NEURAL
from spade_pyserini.index import build_impact_index
from spade_pyserini.integrations.memory import Model, as_encoder, in_memory_corpus
from spade_pyserini.models.hub import DEFAULT
from spade_pyserini.records import Document, Topic
from spade_pyserini.search import ImpactSearcher, SearchOptions, search_topics

try:
    from beir.retrieval.search import BaseSearch
except ModuleNotFoundError:
    raise NotFoundError("BEIR is not installed: pip install 'spade_pyserini[beir]'") from None

BeirCorpus = Mapping[str, Mapping[str, str]]


class SpadeSearch(BaseSearch):  # type: ignore[misc]
    """Encodes and indexes a BEIR corpus in a folder, and searches it.

    folder: for the vectors and the index. A second search of the same corpus uses them again; an
        interrupted encoding continues. The vectors or the index of another corpus are an error,
        unless ``overwrite``.
    model: the name or folder of a model, or a loaded one.
    threads: search threads.
    """

    def __init__(
        self,
        folder: str | Path,
        model: Model = DEFAULT,
        *,
        overwrite: bool = False,
        threads: int = 1,
    ) -> None:
        self.folder, self.encoder = Path(folder), as_encoder(model)
        self.overwrite, self.threads = overwrite, threads

    def search(
        self, corpus: BeirCorpus, queries: Mapping[str, str], top_k: int, *_: Any, **__: Any
    ) -> dict[str, dict[str, float]]:
        """Return the scores of the ``top_k`` best documents by query id and document id.

        The score function that BEIR passes has no effect: scores are inner products.
        """
        index = self._build(corpus)
        topics = [Topic(str(qid), text) for qid, text in queries.items()]
        neural = self.encoder.queries.side.kind == NEURAL
        make_queries = (lambda _: self.encoder.queries) if neural else None
        options = SearchOptions(hits=top_k, threads=self.threads)
        with ImpactSearcher(index, queries=make_queries) as searcher:
            return {
                ranking.qid: {hit.docid: float(hit.score) for hit in ranking.hits}
                for ranking in search_topics(searcher, topics, options)
            }

    def encode(self, corpus: BeirCorpus, queries: Mapping[str, str], *_: Any, **__: Any) -> None:
        """Encode and index the corpus in the folder of this object, for a later `search`."""
        self._build(corpus)

    def search_from_files(self, *_: Any, **__: Any) -> dict[str, dict[str, float]]:
        """Raise `UsageError`: there are no files of dense embeddings."""
        raise UsageError("the vectors are in a Lucene index, not in files; call search instead")

    def _build(self, corpus: BeirCorpus) -> Path:
        documents = [
            Document(str(docid), fields.get("title") or "", fields.get("text") or "")
            for docid, fields in corpus.items()
        ]
        vectors, index = self.folder / "vectors", self.folder / "index"
        options = EncodeOptions(overwrite=self.overwrite)
        encode_corpus(in_memory_corpus(documents), self.encoder, vectors, options)
        build_impact_index(vectors, index, overwrite=self.overwrite)
        return index
