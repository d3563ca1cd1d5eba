"""Build an impact index from vectors."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini.errors import ArtifactError, UsageError
from spade_pyserini.formats import vector_manifest, vectors
from spade_pyserini.formats.index_manifest import IndexManifest
from spade_pyserini.formats.paths import sibling
from spade_pyserini.formats.query_side import remove_other_weights, save_weights
from spade_pyserini.formats.temporary import temporary_folder
from spade_pyserini.index.anserini import AnseriniInput, run_index_collection
from spade_pyserini.index.counts import check_lucene_counts
from spade_pyserini.index.direct import write_index
from spade_pyserini.index.foreign import check_foreign
from spade_pyserini.index.options import DIRECT, IndexOptions
from spade_pyserini.index.reorder import write_reordered, write_shards
from spade_pyserini.index.source import VectorSource, encoded_source
from spade_pyserini.index.staging import build_in_staging, index_lock, log_path
from spade_pyserini.index.tokenizer import staged_tokenizer
from spade_pyserini.lucene.runtime import anserini_jar, find_java
from spade_pyserini.models.wordpieces import WordPieces, resolve_tokenizer


def build_impact_index(
    source: str | Path,
    output: str | Path,
    options: IndexOptions | None = None,
    *,
    overwrite: bool = False,
) -> IndexManifest:
    """Build a Lucene impact index of the vectors in the folder ``source``.

    The vectors are checked against their manifest first. Afterwards the index is compared with the
    vectors by documents, postings and the sum of impacts; if they differ, the index is discarded.
    """
    if "://" in str(source):
        raise UsageError(f"Lucene reads local folders only; copy {source} to this machine first")
    folder = Path(source)
    find_java()  # fails early, before the vectors are read
    manifest = vectors.verify(folder)
    path = vector_manifest.tokenizer_path(folder)
    wordpieces = WordPieces.load(path)
    if wordpieces.fingerprint != manifest.settings.tokenizer_fingerprint:
        message = f"{path}: not the tokenizer that the vectors were made with"
        raise ArtifactError(f"{message}; restore it, or encode again")
    encoded = encoded_source(folder, manifest)
    return _build(encoded, Path(output), wordpieces, options or IndexOptions(), overwrite)


def build_foreign_index(
    source: str | Path,
    output: str | Path,
    tokenizer: str | Path | None = None,
    options: IndexOptions | None = None,
    *,
    overwrite: bool = False,
) -> IndexManifest:
    """Build an impact index of vectors that another tool made, after checking every line.

    ``tokenizer`` is the tokenizer of their model: a file, or the folder or name of a model. If it
    is given, all terms must be in its vocabulary, and searches use it.
    """
    wordpieces = WordPieces.load(resolve_tokenizer(tokenizer)) if tokenizer else None
    foreign = check_foreign(Path(source), wordpieces)
    return _build(foreign, Path(output), wordpieces, options or IndexOptions(), overwrite)


def _build(
    source: VectorSource,
    output: Path,
    wordpieces: WordPieces | None,
    options: IndexOptions,
    overwrite: bool,
) -> IndexManifest:
    """Build the index, and write its tokenizer next to it if there is one."""
    expected = _expected_manifest(source, wordpieces, options)

    def build(staging: Path) -> IndexManifest:
        if options.reorder:
            with temporary_folder(sibling(output, "reordered")) as folder:
                files = write_reordered(list(source.vectors()), folder / "vectors")
                _write_direct(files, staging, expected, threads=1)
        elif options.builder == DIRECT and source.beyond_bmp:
            # The JSON parser in Java refuses such a character in a key if it is escaped.
            with temporary_folder(sibling(output, "rewritten")) as folder:
                files = write_shards(source.vectors(), folder / "vectors")
                _write_direct(files, staging, expected, options.threads)
        elif options.builder == DIRECT:
            _write_direct(source.files, staging, expected, options.threads)
        else:
            flags = ("--impact", "--pretokenized", *(["--optimize"] if options.optimize else []))
            documents = AnseriniInput(
                "JsonVectorCollection", source.folder, expected.documents, flags
            )
            log = log_path(output)
            run_index_collection(documents, staging, threads=options.threads, log=log)
        check_lucene_counts(staging, expected)
        return expected

    with index_lock(output), staged_tokenizer(output, wordpieces):
        save_weights(output, source.query, source.query_weights or {})
        manifest = build_in_staging(output, expected, build, overwrite)
        remove_other_weights(output, manifest.query)
        return manifest


def _write_direct(files: list[Path], index: Path, expected: IndexManifest, threads: int) -> None:
    write_index(
        files, index, threads=threads, total=expected.documents, optimize=expected.optimized
    )


def _expected_manifest(
    source: VectorSource, wordpieces: WordPieces | None, options: IndexOptions
) -> IndexManifest:
    return IndexManifest(
        kind="impact",
        corpus=source.corpus,
        model=source.model,
        documents=source.indexed_documents,
        empty_documents=source.empty_documents,
        postings=source.postings,
        impacts=source.impacts,
        source_sha256=source.digest,
        tokenizer_fingerprint=wordpieces.fingerprint if wordpieces else None,
        optimized=options.optimize,
        builder=options.builder,
        anserini=anserini_jar().stem,
        encoder=source.encoder,
        reordered=options.reorder,
        empty=list(source.empty),
        sources=list(source.sources),
        query=source.query,
    )
