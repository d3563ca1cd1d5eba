"""Add documents to an impact index, replace them, or delete them, without building it again.

The change is made to a copy of the index. After the counts of the copy are checked, the copy
replaces the index, so the index is intact at any moment. Lucene never modifies a file that it has
written, so the copy consists of hard links where the file system supports them.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path

from spade_pyserini.errors import ArtifactError, NotFoundError
from spade_pyserini.formats import vectors
from spade_pyserini.formats.atomic import report_full_disk
from spade_pyserini.formats.digests import sha256
from spade_pyserini.formats.index_manifest import IndexManifest
from spade_pyserini.formats.tables import counted
from spade_pyserini.formats.temporary import temporary_folder
from spade_pyserini.formats.unicode import is_valid_unicode
from spade_pyserini.formats.vector_manifest import VectorSettings
from spade_pyserini.index.checksums import check_index_files
from spade_pyserini.index.counts import LuceneCounts, check_lucene_counts
from spade_pyserini.index.direct import CHECK_WRITABLE, WriteOptions, write_index
from spade_pyserini.index.postings import BATCH, Postings
from spade_pyserini.index.pruning import StaticPruning
from spade_pyserini.index.source import VectorSource, encoded_source, encoder_digest
from spade_pyserini.index.staging import index_lock
from spade_pyserini.index.swap import restore, swap_in
from spade_pyserini.index.tokenizer import settle_tokenizer
from spade_pyserini.lucene import jvm
from spade_pyserini.lucene.errors import WRITE, translate_java_errors

logger = logging.getLogger(__name__)


def add_documents(source: str | Path, index: str | Path, *, threads: int = 1) -> IndexManifest:
    """Add the vectors in the folder ``source``; they replace documents with the same ids.

    The vectors must have been encoded like those of the index: with the same model, settings and
    term counts.
    """
    folder = Path(index)
    encoded = vectors.verify(Path(source))
    new = encoded_source(Path(source), encoded)
    change = f"add {new.digest}"
    with index_lock(folder):
        manifest = _load_for_update(folder)
        if _is_last_change(folder, manifest, change):
            return manifest
        _check_encoder(folder, manifest, new, encoded.settings)
        replaced, added = _count_existing(folder, (vector.docid for vector in new.vectors()))
        # `added` are the new ids. Some of them may be ids of empty documents, which are not in the
        # Lucene index; these documents have terms now.
        empty = sorted({*manifest.empty}.difference(added).union(new.empty))
        expected = replace(
            manifest,
            documents=manifest.documents - replaced.documents + new.indexed_documents,
            empty_documents=manifest.empty_documents - len(manifest.empty) + len(empty),
            empty=empty,
            postings=manifest.postings - replaced.postings,  # `apply` adds the new postings
            impacts=manifest.impacts - replaced.impacts,
            # The corpora that were added last come first: their documents replace older ones.
            sources=[*new.sources, *(old for old in manifest.sources if old not in new.sources)],
            model_folder=new.model_folder or manifest.model_folder,
            model_fingerprint=new.model_fingerprint,
        )

        def apply(copy: Path) -> IndexManifest:
            pruning = StaticPruning(manifest.keep, manifest.prune_ratio)
            options = WriteOptions(create=False, pruning=pruning)
            counts = write_index(
                new.files, copy, threads=threads, total=new.documents, options=options
            )
            return replace(
                expected,
                postings=expected.postings + counts.kept_postings,
                impacts=expected.impacts + counts.kept_impacts,
                pruned_postings=expected.pruned_postings + new.postings - counts.kept_postings,
                pruned_impacts=expected.pruned_impacts + new.impacts - counts.kept_impacts,
            )

        return _apply_change(folder, change, apply)


def delete_documents(index: str | Path, docids: Iterable[str]) -> IndexManifest:
    """Delete documents by their ids.

    Raises `NotFoundError`, and deletes nothing, if any of them is not in the index.
    """
    folder, ids = Path(index), sorted(set(docids))
    # Java cannot represent ids with unpaired surrogates, so no index has them.
    _refuse_missing(folder, [docid for docid in ids if not is_valid_unicode(docid)])
    digest = hashlib.sha256("\n".join(ids).encode()).hexdigest()
    change = f"delete {digest}"
    with index_lock(folder):
        manifest = _load_for_update(folder)
        if _is_last_change(folder, manifest, change):
            return manifest
        deleted, missing = _count_existing(folder, ids)
        _refuse_missing(folder, missing)
        expected = replace(
            manifest,
            documents=manifest.documents - deleted.documents,
            postings=manifest.postings - deleted.postings,
            impacts=manifest.impacts - deleted.impacts,
        )

        def apply(copy: Path) -> IndexManifest:
            java_ids = jvm.java_class("java.util.ArrayList")()
            for docid in ids:
                java_ids.add(docid)
            with jvm.deferred_interrupt(), translate_java_errors(copy, WRITE, CHECK_WRITABLE):
                jvm.spade_class("ImpactIndexer").delete(jvm.java_path(copy), java_ids)
            return expected

        return _apply_change(folder, change, apply)


def _load_for_update(folder: Path) -> IndexManifest:
    """Complete or undo an interrupted change, check the index, and return its manifest."""
    restore(folder)
    settle_tokenizer(folder)
    manifest = IndexManifest.load(folder)
    check_index_files(folder)  # hard links would copy damage into the changed index
    check_lucene_counts(folder, manifest)
    if manifest.kind != "impact":
        message = f"{folder} is a {manifest.kind} index; only impact indexes can be changed"
        raise ArtifactError(f"{message}; build it again from the new corpus")
    return manifest


def _is_last_change(folder: Path, manifest: IndexManifest, change: str) -> bool:
    if manifest.updates[-1:] != [change]:
        return False
    logger.info("%s: this change is already applied", folder)
    return True


def _check_encoder(
    folder: Path, manifest: IndexManifest, source: VectorSource, settings: VectorSettings
) -> None:
    """Raise `ArtifactError` unless the vectors were encoded like those of the index."""
    if manifest.encoder is None:
        message = f"{folder} does not record how its documents were encoded"
        cause = "it was built from vectors of another tool, or by an early version of this package"
        raise ArtifactError(f"{message}: {cause}; build it again from all vectors together")
    if manifest.encoder == source.encoder:
        return
    if counts := _matching_counts(manifest, source, settings):
        message = f"{source.folder} was encoded with other term counts than the documents of"
        cure = f"encode its documents again with `spade encode --counts {counts} --overwrite`"
        raise ArtifactError(f"{message} {folder}; {cure}")
    message = f"{source.folder} was encoded with another model or other settings"
    cure = "encode with the same model, settings and term counts"
    if settings.counts_sha256 is not None:
        cure += (
            ": `spade encode --counts FILE`, where FILE is the .counts.json next to the vectors of "
            f"the index, such as {manifest.corpus}.{manifest.model}.counts.json"
        )
    raise ArtifactError(f"{message} than the documents of {folder}; {cure}")


def _matching_counts(
    manifest: IndexManifest, source: VectorSource, settings: VectorSettings
) -> Path | None:
    """Return the counts file that the documents of the index were encoded with, or None.

    Only the files next to ``source`` are examined.
    """
    if settings.counts_sha256 is None:
        return None
    for path in sorted(source.folder.parent.glob("*.counts.json")):
        if encoder_digest(replace(settings, counts_sha256=sha256(path))) == manifest.encoder:
            return path
    return None


def _refuse_missing(folder: Path, missing: list[str]) -> None:
    if missing:
        raise NotFoundError(f"{folder} has no document {missing[0]!r}; nothing was deleted")


def _count_existing(folder: Path, docids: Iterable[str]) -> tuple[LuceneCounts, list[str]]:
    """Return the counts of the documents ``docids`` in the index, and the ids that are missing.

    Only the vectors of one batch of documents are in memory at a time.
    """
    documents = postings = impacts = 0
    missing = []
    remaining = iter(docids)
    with Postings(folder) as reader:
        while batch := list(islice(remaining, BATCH)):
            for docid, vector in zip(batch, reader.vectors(batch), strict=True):
                if vector is None:
                    missing.append(docid)
                    continue
                documents += 1
                postings += len(vector)
                impacts += sum(vector.values())
    return LuceneCounts(documents, postings, impacts), missing


def _apply_change(
    folder: Path, change: str, apply: Callable[[Path], IndexManifest]
) -> IndexManifest:
    """Apply a change to a copy of the index, check the counts, and replace the index by the copy.

    ``apply`` changes the copy and returns the manifest that the copy should have.
    """
    with report_full_disk(folder), temporary_folder(folder) as copy:
        for path in folder.iterdir():
            if path.name != "write.lock":
                _link_or_copy(path, copy / path.name)
        expected = apply(copy)
        expected = replace(expected, updates=[*expected.updates, change], optimized=False)
        check_lucene_counts(copy, expected)
        expected = swap_in(copy, folder, expected)
    shown = counted(expected.documents, "document")
    logger.info("%s: the index now has %s", folder, shown)
    return expected


def _link_or_copy(path: Path, target: Path) -> None:
    try:
        os.link(path, target)
    except OSError:  # another device, or a file system without hard links
        shutil.copy2(path, target)
