"""A run of a dense bi-encoder, exact, through FAISS.

::

    index/pydoc.minilm.dense/docs0000.npy         embeddings of length 1, a row a document
    index/pydoc.minilm.dense/docs0000.json        their docids, checksums of documents and rows
    index/pydoc.minilm.dense.manifest.json        what made them, and how many there are
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spade_pyserini.errors import (
    ArtifactError,
    InputError,
    OutputExistsError,
    SpadeError,
    describe_differences,
)
from spade_pyserini.formats.files import (
    atomic_write,
    lock,
    read_sealed,
    remove,
    sha256,
    sibling,
    write_sealed,
)
from spade_pyserini.progress import progress_bar
from spade_pyserini.records import Document, Hit, Ranking, Topic

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from spade_pyserini.corpora import Corpus

FORMAT = "spade_pyserini.dense/1"
OURS = re.compile(r"docs\d+\.(npy|json)|\.docs.*\.tmp")
SHARD_SIZE = 2000
TOPICS = 256  # per call of FAISS's


def encode_dense(
    corpus: Corpus,
    model_name: str,
    folder: str | Path,
    shard_size: int = SHARD_SIZE,
    overwrite: bool = False,
) -> int:
    """Write the embeddings of ``corpus`` to ``folder``; return the number of documents.

    Finished shards are kept, so the same call completes what was interrupted. A folder of another
    corpus or model is refused unless ``overwrite``.
    """
    folder = Path(folder)
    model, fingerprint = _load(model_name)
    settings = {
        "corpus": corpus.name,
        "model": str(Path(model_name).resolve()) if Path(model_name).is_dir() else model_name,
        "model_fingerprint": fingerprint,
        "max_length": model.max_seq_length,
        "dimension": model.get_embedding_dimension(),
        "shard_size": shard_size,
    }
    with lock(folder):
        _start(folder, settings, overwrite)
        documents = iter(progress_bar(corpus, "embedding", "documents"))
        shards: list[Path] = []
        count = 0
        while batch := list(itertools.islice(documents, shard_size)):
            shards.append(_shard(folder, len(shards)))
            count += len(batch)
            if not _is_whole(shards[-1], batch, overwrite):
                _save(folder, settings)  # from here on unfinished
                _write_shard(shards[-1], batch, model)
        if not shards:
            raise InputError("the corpus is empty", corpus.source)
        for stale in set(folder.glob("docs*.npy")) - set(shards):
            _refuse_other_documents(stale, overwrite)
            remove(stale)
            remove(stale.with_suffix(".json"))
        _save(folder, settings, len(shards), count)
    return count


def dense_search(folder: str | Path, topics: list[Topic], hits: int = 1000) -> list[Ranking]:
    """Search embeddings exactly, with the model that made them; scores are cosines."""
    import faiss
    import numpy as np

    folder = Path(folder)
    manifest = _manifest(folder)
    if not manifest["shards"]:
        raise ArtifactError(f"{folder}: not finished; run the same dense command again")
    settings = manifest["settings"]
    model, fingerprint = _load(settings["model"])
    if fingerprint != settings["model_fingerprint"]:
        message = f"{folder} was made with other weights of {settings['model']}"
        raise ArtifactError(f"{message}; embed the corpus again with --overwrite")
    docids: list[str] = []
    index = faiss.IndexFlatIP(settings["dimension"])
    for number in range(manifest["shards"]):
        path = _shard(folder, number)
        record = _record(path)
        if record is None:
            raise ArtifactError(f"{path}: missing or damaged; run the same dense command again")
        docids += record["docids"]
        index.add(np.load(path, allow_pickle=False))
    rankings = []
    for start in progress_bar(range(0, len(topics), TOPICS), "searching", "batches"):
        batch = topics[start : start + TOPICS]
        texts = [topic.text for topic in batch]
        queries = model.encode_query(texts, normalize_embeddings=True, show_progress_bar=False)
        found = index.search(np.asarray(queries, np.float32), min(hits, len(docids)))
        for topic, scores, places in zip(batch, *found, strict=True):
            ranked = [
                Hit(docids[at], float(score)) for score, at in zip(scores, places, strict=True)
            ]
            ranked.sort(key=lambda hit: (-hit.score, hit.docid))
            rankings.append(Ranking(topic.qid, ranked))
    return rankings


def _load(name: str) -> tuple[SentenceTransformer, str]:
    """The model, safetensors only, and the digest of its weights."""
    from spade_pyserini.models.bi_encoder import load_bi_encoder
    from spade_pyserini.models.fingerprint import weights_fingerprint

    model = load_bi_encoder(name)
    return model, weights_fingerprint(model)


def _start(folder: Path, settings: dict[str, Any], overwrite: bool) -> None:
    """See that the folder is free, or may be gone on with, or may be replaced."""
    known = sibling(folder, "manifest.json").exists()
    inside = list(folder.iterdir()) if folder.is_dir() else []
    foreign = [path for path in inside if not (known and OURS.fullmatch(path.name))]
    if folder.is_file() or foreign:
        message = f"{folder} is there and holds no embeddings"
        raise OutputExistsError(f"{message}; choose another --index")
    if not known:
        _save(folder, settings)
        return
    try:
        old = _manifest(folder)["settings"]
    except SpadeError:
        if not overwrite:
            raise
        old = {}
    if changed := describe_differences(old, settings):
        if not overwrite:
            message = f"{folder} has embeddings with other settings ({changed})"
            raise OutputExistsError(f"{message}; choose another --index, or pass --overwrite")
        for path in [*folder.glob("docs*.npy"), *folder.glob("docs*.json")]:
            remove(path)
        _save(folder, settings)  # last: with these settings there is nothing of the others


def _save(folder: Path, settings: dict[str, Any], shards: int = 0, documents: int = 0) -> None:
    """Write the manifest; one without shards is that of unfinished embeddings."""
    values = {"settings": settings, "shards": shards, "documents": documents}
    write_sealed(sibling(folder, "manifest.json"), {"format": FORMAT, **values})


def _manifest(folder: Path) -> dict[str, Any]:
    path = sibling(folder, "manifest.json")
    if not path.is_file():
        raise ArtifactError(
            f"{folder} has no {path.name} beside it: not made by spade_pyserini.dense"
        )
    return read_sealed(path, FORMAT)


def _shard(folder: Path, number: int) -> Path:
    return folder / f"docs{number:04d}.npy"


def _write_shard(path: Path, documents: list[Document], model: SentenceTransformer) -> None:
    """Write the rows, then their record, which tells that they are whole."""
    import numpy as np

    from spade_pyserini.encode.shard import input_digest

    texts = [document.contents for document in documents]
    rows = model.encode_document(texts, normalize_embeddings=True, show_progress_bar=False)
    with atomic_write(path) as stream:
        np.save(stream, np.asarray(rows, np.float32))
    docids = [document.docid for document in documents]
    values = {"docids": docids, "input_sha256": input_digest(documents), "sha256": sha256(path)}
    write_sealed(path.with_suffix(".json"), {"format": FORMAT, **values})


def _is_whole(path: Path, documents: list[Document], overwrite: bool) -> bool:
    """Whether a shard of an earlier run can stay; the documents must not have changed."""
    from spade_pyserini.encode.shard import input_digest

    record = _record(path)
    if record and record["input_sha256"] != input_digest(documents):
        _refuse_other_documents(path, overwrite)
        return False
    return record is not None


def _record(path: Path) -> dict[str, Any] | None:
    """What is known of a shard; None where it is not whole."""
    try:
        record = read_sealed(path.with_suffix(".json"), FORMAT)
        return record if sha256(path) == record["sha256"] else None
    except (SpadeError, OSError):
        return None


def _refuse_other_documents(path: Path, overwrite: bool) -> None:
    if not overwrite:
        message = f"{path} was made from other documents than the corpus has now"
        raise ArtifactError(f"{message}; choose another --index, or pass --overwrite")
