"""Exact search with a dense bi-encoder, through FAISS.

::

    index/pydoc.minilm.dense/docs0000.npy         embeddings of unit length, one row per document
    index/pydoc.minilm.dense/docs0000.json        the docids of the rows, and digests
    index/pydoc.minilm.dense.manifest.json        settings, and a record for each shard
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from spade_pyserini.baselines.embeddings import (
    DenseFiles,
    DenseSettings,
    read_docids,
    write_docids,
)
from spade_pyserini.errors import ArtifactError
from spade_pyserini.progress import progress_bar
from spade_pyserini.records import Document, Hit, Ranking, Topic
from spade_pyserini.sharding.job import RunOptions, run_job
from spade_pyserini.sharding.protocols import Advance, Written
from spade_pyserini.sharding.resume import Output
from spade_pyserini.sharding.worker import Job

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from spade_pyserini.corpora import Corpus

SHARD_SIZE = 2000
TOPICS_PER_SEARCH = 256


def encode_dense(
    corpus: Corpus,
    model_name: str,
    index: str | Path,
    shard_size: int = SHARD_SIZE,
    overwrite: bool = False,
) -> int:
    """Write the embeddings of ``corpus`` to the folder ``index``; return the number of documents.

    If an earlier call with the same arguments was interrupted, its finished shards are kept.
    Existing embeddings of other documents or with other settings are an error; with ``overwrite``
    they are replaced. Intact shards of the same documents and settings are kept, even with
    ``overwrite``.
    """
    model, fingerprint = _load(model_name)
    settings = DenseSettings(
        corpus=corpus.name,
        model=str(Path(model_name).resolve()) if Path(model_name).is_dir() else model_name,
        model_fingerprint=fingerprint,
        max_length=model.max_seq_length,
        dimension=model.get_embedding_dimension(),
        shard_size=shard_size,
    )
    files = DenseFiles()
    target = Output(Path(index), files, overwrite=overwrite, parameter="index")
    with target.locked() as bad_documents:
        manifest = target.start(settings, target.load_earlier(keep_complete=True))
        earlier = {shard.number: shard for shard in manifest.shards}
        job = Job(corpus, EmbeddingTask(model, files), target, shard_size, dict(earlier))
        options = RunOptions(description="embedding")
        return run_job(job, manifest, bad_documents, options).documents


class _Texts(NamedTuple):
    """The documents of a shard."""

    number: int
    docids: list[str]
    texts: list[str]
    input_sha256: str


class _Rows(NamedTuple):
    """A shard with its embeddings.

    rows [documents, dimension]: the embeddings of the texts.
    """

    documents: _Texts
    rows: Any


@dataclass(frozen=True)
class EmbeddingTask:
    """Computes the embeddings of the documents of a shard."""

    model: SentenceTransformer
    files: DenseFiles

    def prepare(self, number: int, documents: list[Document], input_sha256: str) -> _Texts:
        """Separate docids and texts."""
        docids = [document.docid for document in documents]
        return _Texts(number, docids, [document.contents for document in documents], input_sha256)

    def compute(self, prepared: _Texts, advance: Advance) -> _Rows:
        """Embed the texts, scaled to unit length."""
        rows = self.model.encode_document(
            prepared.texts, normalize_embeddings=True, show_progress_bar=False
        )
        advance(len(prepared.texts), 0)
        return _Rows(prepared, rows)

    def write(self, folder: Path, computed: _Rows) -> Written:
        """Write the rows, then their docids."""
        import numpy as np

        number, docids, _, input_sha256 = computed.documents
        with self.files.write(folder, number) as stream:
            np.save(stream, np.asarray(computed.rows, np.float32))
        write_docids(folder / self.files.shard_name(number), docids, input_sha256)
        return Written(self.files.record(folder, number, len(docids), input_sha256))


def dense_search(index: str | Path, topics: list[Topic], hits: int = 1000) -> list[Ranking]:
    """Search all embeddings with the model that computed them; scores are cosines."""
    import numpy as np

    folder = Path(index)
    manifest = DenseFiles().load(folder)
    if not manifest.complete:
        raise ArtifactError(f"{folder}: embeddings not finished; embed the same corpus again")
    settings: Any = manifest.settings
    model, fingerprint = _load(settings.model)
    if fingerprint != settings.model_fingerprint:
        message = f"the weights of {settings.model} have changed since {folder} was made"
        raise ArtifactError(f"{message}; embed the corpus again with overwrite=True")
    rows, docids = _load_rows(folder)
    rankings = []
    for start in progress_bar(range(0, len(topics), TOPICS_PER_SEARCH), "searching", "batches"):
        batch = topics[start : start + TOPICS_PER_SEARCH]
        texts = [topic.text for topic in batch]
        queries = model.encode_query(texts, normalize_embeddings=True, show_progress_bar=False)
        results = rows.search(np.asarray(queries, np.float32), min(hits, len(docids)))
        for topic, scores, indexes in zip(batch, *results, strict=True):
            ranked = [
                Hit(docids[index], float(score))
                for score, index in zip(scores, indexes, strict=True)
            ]
            ranked.sort(key=lambda hit: (-hit.score, hit.docid))
            rankings.append(Ranking(topic.qid, ranked))
    return rankings


def _load_rows(folder: Path) -> tuple[Any, list[str]]:
    """Return a FAISS index of all rows, and the docid of each row. Every file is checked."""
    import faiss
    import numpy as np

    files = DenseFiles()
    manifest = files.load(folder)
    settings: Any = manifest.settings
    rows, docids = faiss.IndexFlatIP(settings.dimension), list[str]()
    for shard in manifest.shards:
        path = folder / shard.file
        record = read_docids(path)
        if record is None or not files.is_intact(folder, shard):
            raise ArtifactError(f"{path}: missing or damaged; embed the corpus again")
        docids += record["docids"]
        rows.add(np.load(path, allow_pickle=False))
    return rows, docids


def _load(name: str) -> tuple[SentenceTransformer, str]:
    """Load a bi-encoder; return it and the digest of its weights."""
    from spade_pyserini.models.bi_encoder import load_bi_encoder
    from spade_pyserini.models.fingerprint import weights_fingerprint

    model = load_bi_encoder(name)
    return model, weights_fingerprint(model)
