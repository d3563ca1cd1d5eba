"""SpaDE as an MTEB model that searches a Lucene index (MTEB's ``SearchProtocol``).

    import mteb
    from spade_pyserini.integrations.mteb import SpadeSearch

    mteb.evaluate(SpadeSearch("index/mteb", "spade-mini"), mteb.get_tasks(["SciFact"]))

MTEB is an optional dependency: ``pip install 'spade_pyserini[mteb]'``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from spade_pyserini.errors import NotFoundError, UsageError
from spade_pyserini.formats.paths import safe_file_name
from spade_pyserini.integrations.collection import Collection, Scores
from spade_pyserini.integrations.memory import Model, as_encoder
from spade_pyserini.models.hub import DEFAULT
from spade_pyserini.records import Document, Topic

try:
    from mteb.models import ModelMeta
except ModuleNotFoundError:
    raise NotFoundError("MTEB is not installed: pip install 'spade_pyserini[mteb]'") from None

OWNER = "spade_pyserini"
REVISION = 12  # number of digits of the model's fingerprint
Rows = Iterable[Mapping[str, Any]]


class SpadeSearch:
    """Encodes and indexes the corpus of a task in a folder, and searches it.

    folder: has a subfolder with vectors and an index for each task, subset and split. A second run
        of the same task uses them again, and an interrupted encoding is continued. If a subfolder
        has the vectors or the index of other documents, an error is raised; with ``overwrite``,
        they are replaced instead.
    model: the name or folder of a model, or a loaded model.
    name: the name of the model in MTEB's results, such as ``OWNER/MODEL``.
    threads: number of search threads.
    """

    def __init__(
        self,
        folder: str | Path,
        model: Model = DEFAULT,
        *,
        name: str | None = None,
        overwrite: bool = False,
        threads: int = 1,
    ) -> None:
        self.folder, self.encoder = Path(folder), as_encoder(model)
        self.name = name or _name(model)
        self.overwrite, self.threads = overwrite, threads
        self._collection: Collection | None = None

    @cached_property
    def mteb_model_meta(self) -> Any:
        """The description of the model in MTEB's results; the revision identifies its weights."""
        values = {
            "name": self.name,
            "revision": self.encoder.fingerprint[:REVISION],
            "max_tokens": self.encoder.config.max_length,
            "model_type": ["sparse"],
            "framework": ["PyTorch", "safetensors"],
            "use_instructions": False,
        }
        return ModelMeta.create_empty(values)

    def index(
        self, corpus: Rows, *, task_metadata: Any, hf_split: str, hf_subset: str, **_: Any
    ) -> None:
        """Encode and index the corpus of a task, for a later `search`."""
        names = (task_metadata.name, hf_subset, hf_split)
        folder = self.folder.joinpath(*map(safe_file_name, names))
        collection = Collection(folder, self.encoder, overwrite=self.overwrite)
        collection.build(
            [Document(str(row["id"]), row.get("title") or "", _text(row)) for row in corpus]
        )
        self._collection = collection

    def search(
        self,
        queries: Rows,
        *,
        top_k: int,
        top_ranked: Mapping[str, list[str]] | None = None,
        **_: Any,
    ) -> Scores:
        """Return the scores of the ``top_k`` best documents by query id and document id.

        ``top_ranked`` has the candidate documents of each query in a re-ranking task. Only the
        candidates are scored, even those without a query term. If a query has an instruction, the
        instruction is appended to the text of the query.
        """
        if self._collection is None:
            raise UsageError("there is no index yet; call index first")
        topics = [Topic(str(row["id"]), _query(row)) for row in queries]
        if top_ranked is None:
            return self._collection.search(topics, top_k, self.threads)
        return _rescore(self._collection, topics, top_ranked, top_k)


def _name(model: Model) -> str:
    """Return a name with an owner, which MTEB needs: ``spade_pyserini/spade-mini``."""
    text = str(model if isinstance(model, str | Path) else getattr(model, "origin", None) or "")
    return text if text.count("/") == 1 else f"{OWNER}/{safe_file_name(Path(text).name)}"


def _text(row: Mapping[str, Any]) -> str:
    text = row.get("text", "")
    if not isinstance(text, str | None):
        kind = type(text).__name__
        message = f"the text of {row['id']!r} is of type {kind}"
        raise UsageError(f"{message}; SpaDE encodes texts only; choose a task with texts")
    return text or ""


def _query(row: Mapping[str, Any]) -> str:
    return f"{_text(row)} {row.get('instruction') or ''}".rstrip()


def _rescore(
    collection: Collection, topics: list[Topic], top_ranked: Mapping[str, list[str]], k: int
) -> Scores:
    """Return the scores of the ``k`` best candidates of each query; scores may be 0.

    ``top_ranked`` has the ids of the candidate documents by query id.
    """
    scores: Scores = {}
    with collection.searcher() as searcher:
        for topic in topics:
            weighed = {
                docid: float(sum(searcher.matched_terms(topic.text, docid).values()))
                for docid in top_ranked.get(topic.qid, [])
            }
            best = sorted(weighed, key=lambda docid: (-weighed[docid], docid))[:k]
            scores[topic.qid] = {docid: weighed[docid] for docid in best}
    return scores
