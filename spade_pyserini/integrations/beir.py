"""SpaDE as a BEIR retriever that searches a Lucene index.

    from beir.retrieval.evaluation import EvaluateRetrieval
    from spade_pyserini.integrations.beir import SpadeSearch

    results = EvaluateRetrieval(SpadeSearch("index/scifact.beir")).retrieve(corpus, queries)

BEIR is an optional dependency: ``pip install 'spade_pyserini[beir]'``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spade_pyserini.errors import NotFoundError, UsageError
from spade_pyserini.integrations.collection import Collection, Scores
from spade_pyserini.integrations.memory import Model, as_encoder
from spade_pyserini.models.hub import DEFAULT
from spade_pyserini.records import Document, Topic

try:
    from beir.retrieval.search import BaseSearch
except ModuleNotFoundError:
    raise NotFoundError("BEIR is not installed: pip install 'spade_pyserini[beir]'") from None

BeirCorpus = Mapping[str, Mapping[str, str]]


class SpadeSearch(BaseSearch):  # type: ignore[misc]
    """Encodes and indexes a BEIR corpus in a folder, and searches it.

    folder: folder for the vectors and the index. A second search of the same corpus uses them
        again, and an interrupted encoding is continued. If the folder has the vectors or index of
        another corpus, an error is raised; with ``overwrite``, they are replaced instead.
    model: the name or folder of a model, or a loaded model.
    threads: number of search threads.
    """

    def __init__(
        self,
        folder: str | Path,
        model: Model = DEFAULT,
        *,
        overwrite: bool = False,
        threads: int = 1,
    ) -> None:
        self.threads = threads
        self.collection = Collection(Path(folder), as_encoder(model), overwrite=overwrite)

    def search(
        self, corpus: BeirCorpus, queries: Mapping[str, str], top_k: int, *_: Any, **__: Any
    ) -> Scores:
        """Return the scores of the ``top_k`` best documents by query id and document id.

        The score function that BEIR passes has no effect: scores are inner products.
        """
        self.collection.build(_documents(corpus))
        topics = [Topic(str(qid), text) for qid, text in queries.items()]
        return self.collection.search(topics, top_k, self.threads)

    def encode(self, corpus: BeirCorpus, queries: Mapping[str, str], *_: Any, **__: Any) -> None:
        """Encode and index the corpus in the folder of this object, for a later `search`."""
        self.collection.build(_documents(corpus))

    def search_from_files(self, *_: Any, **__: Any) -> Scores:
        """Raise `UsageError`: there are no files of dense embeddings."""
        raise UsageError("the vectors are in a Lucene index, not in files; call search instead")


def _documents(corpus: BeirCorpus) -> list[Document]:
    return [
        Document(str(docid), fields.get("title") or "", fields.get("text") or "")
        for docid, fields in corpus.items()
    ]
