"""Build an impact index from vectors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from spade_pyserini.errors import ArtifactError, UsageError
from spade_pyserini.formats import vector_manifest, vectors
from spade_pyserini.formats.index_manifest import IndexManifest
from spade_pyserini.formats.query_side import remove_other_weights, save_weights
from spade_pyserini.index.counts import check_lucene_counts
from spade_pyserini.index.direct import ReadCounts
from spade_pyserini.index.foreign import check_foreign, foreign_source, no_vectors
from spade_pyserini.index.options import DIRECT, IndexOptions
from spade_pyserini.index.source import VectorSource, encoded_source
from spade_pyserini.index.staging import build_in_staging, index_lock
from spade_pyserini.index.tokenizer import staged_tokenizer
from spade_pyserini.index.writing import log_pruned, write_vectors
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

    The vectors are checked against their manifest first. At the end, the index must have the same
    number of documents, number of postings and sum of impacts as the vectors, where empty documents
    and pruned terms do not count. If these numbers differ, the index is discarded.
    """
    if "://" in str(source):
        raise UsageError(f"Lucene reads local folders only; copy {source} to this machine first")
    folder = Path(source)
    find_java()  # if Java is missing, fail before the vectors are read
    manifest = vectors.verify(folder)
    path = vector_manifest.tokenizer_path(folder)
    wordpieces = WordPieces.load(path)
    if wordpieces.fingerprint != manifest.settings.tokenizer_fingerprint:
        message = f"{path} is not the tokenizer that the vectors were encoded with"
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
    """Build an impact index of vectors that another tool made, and check every line.

    The direct builder checks the lines while it builds the index; with the Anserini builder or with
    ``reorder``, all lines are checked first. A bad line raises `InputError`; no index is written.
    ``tokenizer`` is the tokenizer of the model that made the vectors: a file, or the folder or name
    of a model. If it is given, all terms must be in its vocabulary, and searches use it.
    """
    wordpieces = WordPieces.load(resolve_tokenizer(tokenizer)) if tokenizer else None
    options = options or IndexOptions()
    while_building = options.builder == DIRECT and not options.reorder
    describe = foreign_source if while_building else check_foreign
    return _build(describe(Path(source), wordpieces), Path(output), wordpieces, options, overwrite)


def _build(
    source: VectorSource,
    output: Path,
    wordpieces: WordPieces | None,
    options: IndexOptions,
    overwrite: bool,
) -> IndexManifest:
    """Build the index. If there is a tokenizer, write it next to the index."""
    expected = _expected_manifest(source, wordpieces, options)

    def build(staging: Path) -> IndexManifest:
        counts = write_vectors(source, staging, output, options)
        _check_read(source, counts)
        manifest = _with_kept(expected, counts)
        check_lucene_counts(staging, manifest)
        if options.pruning.active:
            log_pruned(output, counts)
        return manifest

    with index_lock(output), staged_tokenizer(output, wordpieces):
        save_weights(output, source.query, source.query_weights or {})
        manifest = build_in_staging(output, expected, build, overwrite)
        remove_other_weights(output, manifest.query)
        return manifest


def _check_read(source: VectorSource, counts: ReadCounts) -> None:
    """Raise `ArtifactError` if the builder's ``counts`` differ from those of ``source``.

    Raise `InputError` if the counts of ``source`` are unknown and no vector was read.
    """
    if source.checks is not None:  # vectors of another tool: their counts are unknown
        if not counts.documents:
            raise no_vectors(source.folder)
        return
    known = (source.documents, source.empty_documents, source.postings, source.impacts)
    if counts[:4] != known:
        names = ("documents", "empty documents", "postings", "sum of impacts")
        message = "; ".join(
            f"{name}: {read} read, {expected} expected"
            for name, read, expected in zip(names, counts, known, strict=False)
            if read != expected
        )
        cure = "the files changed during the build; build the index again"
        raise ArtifactError(f"{source.folder}: {message}; {cure}")


def _with_kept(expected: IndexManifest, counts: ReadCounts) -> IndexManifest:
    """Return ``expected`` with the counts of documents, kept postings and pruned postings."""
    return replace(
        expected,
        documents=counts.documents - counts.empty_documents,
        empty_documents=counts.empty_documents,
        postings=counts.kept_postings,
        impacts=counts.kept_impacts,
        pruned_postings=counts.postings - counts.kept_postings,
        pruned_impacts=counts.impacts - counts.kept_impacts,
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
        keep=options.keep,
        prune_ratio=options.prune_ratio,
        model_folder=source.model_folder,
        model_fingerprint=source.model_fingerprint,
    )
