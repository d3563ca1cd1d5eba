"""Build an index beside its final place, count, and only then give it its name.

The manifest is written before the folder is renamed: a folder with a manifest is whole, a
folder without one is not ours, and a manifest alone means that the same call will finish it.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from spade_pyserini import java, vectors
from spade_pyserini.corpora import Corpus
from spade_pyserini.errors import ArtifactError, InputError, OutputExistsError
from spade_pyserini.files import atomic_write, beside, folder_bytes, refuse_existing, remove, sha256
from spade_pyserini.index.anserini import run_index_collection
from spade_pyserini.index.manifest import (
    IndexManifest,
    LuceneCounts,
    lucene_counts,
    manifest_path,
    tokenizer_path,
)
from spade_pyserini.wordpiece import WordPieces

logger = logging.getLogger(__name__)


def build_impact_index(
    source: str | Path,
    output: str | Path,
    *,
    threads: int = 1,
    optimize: bool = False,
    overwrite: bool = False,
) -> IndexManifest:
    """Have Anserini build a Lucene impact index of the vectors in ``source``.

    The vectors are checked against their manifest first, and the index against the vectors
    afterwards: documents, postings and the sum of impacts. Anything else leaves no index.
    """
    source, output = Path(source), Path(output)
    encoded = vectors.verify(source)
    wordpieces = WordPieces.load(vectors.tokenizer_path(source))
    if wordpieces.fingerprint != encoded.settings.tokenizer_fingerprint:
        path = vectors.tokenizer_path(source)
        raise ArtifactError(f"{path}: not the tokenizer that the vectors were made with")
    manifest = IndexManifest(
        kind="impact",
        corpus=encoded.settings.corpus,
        model=encoded.settings.model,
        documents=encoded.documents - encoded.empty_documents,
        empty_documents=encoded.empty_documents,
        postings=encoded.terms,
        impacts=encoded.impacts,
        source_sha256=sha256(vectors.manifest_path(source)),
        tokenizer_fingerprint=wordpieces.fingerprint,
        optimized=optimize,
        anserini=java.anserini_jar().stem,
    )

    def build(unfinished: Path) -> IndexManifest:
        options = ["--impact", "--pretokenized", *(["--optimize"] if optimize else [])]
        run_index_collection(
            "JsonVectorCollection",
            source,
            unfinished,
            *options,
            threads=threads,
            total=manifest.documents,
        )
        _compare(unfinished, manifest)
        wordpieces.save(tokenizer_path(output))
        return manifest

    return _build(output, manifest, build, overwrite)


def build_bm25_index(
    corpus: Corpus,
    output: str | Path,
    *,
    threads: int = 1,
    optimize: bool = False,
    overwrite: bool = False,
) -> IndexManifest:
    """Have Anserini build an ordinary index of the same documents, for comparison."""
    output = Path(output)
    texts = beside(output, "bm25-input")
    remove(texts)
    try:
        documents, empty, digest = _write_texts(corpus, texts / "docs.jsonl")
        manifest = IndexManifest(
            kind="bm25",
            corpus=corpus.name,
            model="bm25",
            documents=documents - empty,
            empty_documents=empty,
            postings=0,
            impacts=0,
            source_sha256=digest,
            tokenizer_fingerprint=None,
            optimized=optimize,
            anserini=java.anserini_jar().stem,
        )

        def build(unfinished: Path) -> IndexManifest:
            options = ["--optimize"] if optimize else []
            run_index_collection(
                "JsonCollection", texts, unfinished, *options, threads=threads, total=documents
            )
            counts = _compare(unfinished, manifest)
            return replace(manifest, postings=counts.postings, impacts=counts.impacts)

        return _build(output, manifest, build, overwrite)
    finally:
        remove(texts)


def _write_texts(corpus: Corpus, path: Path) -> tuple[int, int, str]:
    """The corpus as Anserini's JsonCollection: documents, empty ones, digest."""
    documents = empty = 0
    digest = hashlib.sha256()
    with atomic_write(path, temporary=beside(path.parent, "tmp")) as stream:
        for document in corpus:
            documents += 1
            empty += not document.contents
            line = json.dumps({"id": document.docid, "contents": document.contents}).encode()
            digest.update(line)
            stream.write(line + b"\n")
    if not documents:
        raise InputError("the corpus is empty", corpus.source)
    return documents, empty, digest.hexdigest()


def _build(
    output: Path,
    expected: IndexManifest,
    build: Callable[[Path], IndexManifest],
    overwrite: bool,
) -> IndexManifest:
    """Run ``build`` on a folder beside ``output`` and put the result in place."""
    if output.exists() and manifest_path(output).exists() and not overwrite:
        found = IndexManifest.load(output)
        if (found.source_sha256, found.optimized) == (expected.source_sha256, expected.optimized):
            logger.info("%s: already built from the same input", output)
            return found
        raise OutputExistsError(f"{output} was built from something else; pass --overwrite")
    refuse_existing(output, overwrite)
    unfinished = beside(output, "building")
    remove(unfinished)
    output.parent.mkdir(parents=True, exist_ok=True)
    try:
        manifest = build(unfinished)
        remove(output)
        manifest.save(output)
        unfinished.replace(output)
    finally:
        remove(unfinished)
    size = folder_bytes(output) / 1e6
    logger.info("%s: %d documents, %.1f MB", output, manifest.documents, size)
    if manifest.empty_documents:
        logger.warning("%d documents are empty and cannot be found", manifest.empty_documents)
    return manifest


def _compare(index: Path, manifest: IndexManifest) -> LuceneCounts:
    """Raise `ArtifactError` unless Lucene has what was handed to Anserini."""
    if not any(index.glob("segments_*")):
        raise ArtifactError("Anserini left no index")
    counts = lucene_counts(index)
    wanted = {"documents": manifest.documents}
    if manifest.kind == "impact":
        wanted |= {"postings": manifest.postings, "impacts": manifest.impacts}
    for name, number in wanted.items():
        if getattr(counts, name) != number:
            message = f"the index has {getattr(counts, name)} {name}, the input has {number}"
            raise ArtifactError(f"{message}; no index was written")
    return counts
