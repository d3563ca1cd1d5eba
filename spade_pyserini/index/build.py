"""Build an index beside its final place, count, and only then give it its name.

A folder with a manifest is whole, a folder without one is not ours, and a manifest alone means that
the same call will finish it. An index that is replaced stays until the new one has its name, see
`spade_pyserini.index.place`.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from spade_pyserini.corpora import Corpus
from spade_pyserini.errors import ArtifactError, InputError, OutputExistsError, UsageError
from spade_pyserini.formats import vectors
from spade_pyserini.formats.files import atomic_write, folder_bytes, lock, remove, sha256, sibling
from spade_pyserini.formats.index_manifest import (
    IndexManifest,
    empty_ids,
    encoder_digest,
    manifest_path,
    tokenizer_path,
)
from spade_pyserini.index.anserini import run_index_collection
from spade_pyserini.index.direct import write_index
from spade_pyserini.index.foreign import check_foreign
from spade_pyserini.index.reorder import write_reordered
from spade_pyserini.index.swap import is_intact, restore, swap_in
from spade_pyserini.index.verify import check_lucene_counts
from spade_pyserini.lucene import jvm
from spade_pyserini.models.wordpieces import WordPieces, resolve_tokenizer

logger = logging.getLogger(__name__)
JAVA_BLANKS = "".join(map(chr, range(33)))  # what Java trims: Anserini skips what is left empty
BUILDERS = DIRECT, ANSERINI = "direct", "anserini"
ASKED = (  # what the same call has in common with the one that built an index
    ("source_sha256", "--input"),
    ("tokenizer_fingerprint", "--tokenizer"),
    ("builder", "--builder"),
    ("optimized", "--optimize"),
    ("reordered", "--reorder"),
)
LUCENE_FILE = re.compile(r"segments_\w+|write\.lock|_\w+\.\w+")


def build_impact_index(
    source: str | Path,
    output: str | Path,
    *,
    builder: str = DIRECT,
    threads: int = 1,
    optimize: bool = False,
    reorder: bool = False,
    overwrite: bool = False,
) -> IndexManifest:
    """Build a Lucene impact index of the vectors in ``source``.

    The ``builder`` is ``direct``, which hands impacts to Lucene as term frequencies, or
    ``anserini``, the road that everyone takes: Anserini's IndexCollection through Pyserini, which
    repeats each term as often as its impact says. Both end in the same postings. ``reorder`` puts
    documents that share terms beside each other, and then indexes on one thread.

    The vectors are checked against their manifest first, and the index against the vectors
    afterwards: documents, postings and the sum of impacts. Anything else leaves no index.
    """
    if "://" in str(source):
        raise UsageError(f"Lucene reads local folders only; copy {source} to this machine first")
    _check_builder(builder)
    if reorder and builder != DIRECT:
        raise UsageError("documents keep their new order with the builder direct only")
    source, output = Path(source), Path(output)
    jvm.find_java()
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
        builder=builder,
        anserini=jvm.anserini_jar().stem,
        encoder=encoder_digest(encoded.settings),
        reordered=reorder,
        empty=empty_ids(encoded),
    )
    files = [source / shard.file for shard in encoded.shards]
    return _build_impacts(source, files, output, manifest, wordpieces, threads, overwrite)


def build_foreign_index(
    source: str | Path,
    output: str | Path,
    tokenizer: str | Path | None = None,
    *,
    builder: str = DIRECT,
    threads: int = 1,
    optimize: bool = False,
    overwrite: bool = False,
) -> IndexManifest:
    """Build an impact index of vectors that another tool made, after a look at every line.

    ``tokenizer`` is theirs: terms are checked by it, and searches need no other.
    """
    _check_builder(builder)
    source, output = Path(source), Path(output)
    wordpieces = WordPieces.load(resolve_tokenizer(tokenizer)) if tokenizer else None
    found = check_foreign(source, wordpieces)
    manifest = IndexManifest(
        kind="impact",
        corpus=source.resolve().name,
        model=source.resolve().name,
        documents=found.documents - found.empty,
        empty_documents=found.empty,
        postings=found.postings,
        impacts=found.impacts,
        source_sha256=found.digest,
        tokenizer_fingerprint=wordpieces.fingerprint if wordpieces else None,
        optimized=optimize,
        builder=builder,
        anserini=jvm.anserini_jar().stem,
    )
    return _build_impacts(source, found.files, output, manifest, wordpieces, threads, overwrite)


def _check_builder(builder: str) -> None:
    if builder not in BUILDERS:
        raise UsageError(f"the builder is {' or '.join(BUILDERS)}, not {builder}")


def _build_impacts(
    source: Path,
    files: list[Path],
    output: Path,
    manifest: IndexManifest,
    wordpieces: WordPieces | None,
    threads: int,
    overwrite: bool,
) -> IndexManifest:
    """By the builder that the manifest names; ``files`` are all there are below ``source``."""
    total, optimize = manifest.documents, manifest.optimized

    def build(unfinished: Path) -> IndexManifest:
        if manifest.reordered:
            with _temporary(sibling(output, "reordered")) as folder:
                moved = write_reordered(list(vectors.read_vectors(source)), folder)
                write_index(moved, unfinished, threads=1, total=total, optimize=optimize)
        elif manifest.builder == DIRECT:
            write_index(files, unfinished, threads=threads, total=total, optimize=optimize)
        else:
            options = ["--impact", "--pretokenized", *(["--optimize"] if optimize else [])]
            run_index_collection(
                "JsonVectorCollection",
                source,
                unfinished,
                *options,
                threads=threads,
                total=total,
                log=log_path(output),
            )
        check_lucene_counts(unfinished, manifest)
        return manifest

    with lock(output):
        built = _build(output, manifest, build, overwrite)
        if wordpieces:
            wordpieces.save(tokenizer_path(output))
        else:
            remove(tokenizer_path(output))
    return built


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
    jvm.find_java()
    with lock(output), _temporary(sibling(output, "bm25-input")) as texts:
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
            builder=ANSERINI,
            anserini=jvm.anserini_jar().stem,
        )

        def build(unfinished: Path) -> IndexManifest:
            options = ["--optimize"] if optimize else []
            run_index_collection(
                "JsonCollection",
                texts,
                unfinished,
                *options,
                threads=threads,
                total=documents,
                log=log_path(output),
            )
            counts = check_lucene_counts(unfinished, manifest)
            return replace(manifest, postings=counts.postings, impacts=counts.impacts)

        return _build(output, manifest, build, overwrite)


@contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    remove(folder)
    try:
        yield folder
    finally:
        remove(folder)


def _write_texts(corpus: Corpus, path: Path) -> tuple[int, int, str]:
    """The corpus as Anserini's JsonCollection: documents, empty ones, digest."""
    documents = empty = 0
    digest = hashlib.sha256()
    with atomic_write(path, temporary=sibling(path.parent, "tmp")) as stream:
        for document in corpus:
            documents += 1
            empty += not document.contents.strip(JAVA_BLANKS)
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
    restore(output)
    if manifest_path(output).exists() and output.exists() and not overwrite:
        found = IndexManifest.load(output)
        if found.updates:
            raise OutputExistsError(f"{output} was changed since; pass --overwrite to build anew")
        asked = [flag for name, flag in ASKED if getattr(found, name) != getattr(expected, name)]
        if asked:
            message = f"{output} was built from something else or in another way"
            raise OutputExistsError(f"{message} (see {', '.join(asked)}); pass --overwrite")
        if is_intact(output):
            logger.info("%s: already built from the same input", output)
            return found
        logger.warning("%s is damaged: it is built again", output)
    elif output.exists():
        check_ours(output, LUCENE_FILE, overwrite)
    unfinished = sibling(output, "building")
    remove(unfinished)
    try:
        manifest = build(unfinished)
        swap_in(unfinished, output, manifest)
    finally:
        remove(unfinished)
    remove(log_path(output))
    size = folder_bytes(output) / 1e6
    logger.info("%s: %d documents, %.1f MB", output, manifest.documents, size)
    if manifest.empty_documents:
        logger.warning("%d documents are empty and cannot be found", manifest.empty_documents)
    return manifest


def log_path(output: Path) -> Path:
    """Where Anserini's log is kept while the index is built, and when that fails."""
    return sibling(output, "log")


def check_ours(output: Path, names: re.Pattern[str], overwrite: bool) -> None:
    """Refuse to replace a folder that holds other ``names``, and an index unless ``overwrite``."""
    if not output.is_dir():
        raise OutputExistsError(f"{output} is a file; choose another --output")
    for path in output.iterdir():
        if not names.fullmatch(path.name):
            message = f"{output} holds {path.name}, which is not of an index"
            raise OutputExistsError(f"{message}; choose another --output")
    if not overwrite:
        raise OutputExistsError(f"{output} exists already; pass --overwrite to replace it")
