"""Documents added to an index, replaced in it, or deleted from it, without building it anew.

The change is made to a copy and put in place when it has been counted, as a new index is: an index
is always whole. The copy costs nothing: Lucene never changes a file that it has written, so the
files are linked, where the file system can.
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
from spade_pyserini.formats.files import is_valid_unicode, lock, remove, sha256, sibling
from spade_pyserini.formats.index_manifest import (
    IndexManifest,
    LuceneCounts,
    empty_ids,
    encoder_digest,
    told,
)
from spade_pyserini.index.direct import WRITABLE, write_index
from spade_pyserini.index.postings import BATCH, Postings
from spade_pyserini.index.swap import restore, swap_in
from spade_pyserini.index.verify import check_lucene_counts
from spade_pyserini.lucene import jvm

logger = logging.getLogger(__name__)


def add_documents(source: str | Path, index: str | Path, *, threads: int = 1) -> IndexManifest:
    """Add the vectors in ``source``; they replace documents of the same ids.

    They have to be made as those of the index were: the same model, settings and counts.
    """
    source, folder = Path(source), Path(index)
    encoded = vectors.verify(source)
    change = f"add {sha256(vectors.manifest_path(source))}"
    with lock(folder):
        manifest = _impact_manifest(folder)
        if manifest.updates[-1:] == [change]:
            return _already(folder, manifest)
        _check_encoder(folder, manifest, source, encoder_digest(encoded.settings))
        old, new = _there(folder, (one.docid for one in vectors.read_vectors(source)))
        empty = sorted({*manifest.empty}.difference(new).union(empty_ids(encoded)))
        filled = encoded.documents - encoded.empty_documents
        expected = replace(
            manifest,
            documents=manifest.documents - old.documents + filled,
            empty_documents=manifest.empty_documents - len(manifest.empty) + len(empty),
            empty=empty,
            postings=manifest.postings - old.postings + encoded.terms,
            impacts=manifest.impacts - old.impacts + encoded.impacts,
        )

        def apply(copy: Path) -> None:
            files = [source / shard.file for shard in encoded.shards]
            write_index(files, copy, threads=threads, total=encoded.documents, create=False)

        return _change(folder, manifest, expected, change, apply)


def delete_documents(index: str | Path, docids: Iterable[str]) -> IndexManifest:
    """Delete documents by their ids; one that is not there is a `NotFoundError`."""
    folder, names = Path(index), sorted(set(docids))
    _refuse(
        folder, [name for name in names if not is_valid_unicode(name)]
    )  # Lucene has none of these
    digest = hashlib.sha256("\n".join(names).encode()).hexdigest()
    with lock(folder):
        manifest = _impact_manifest(folder)
        if manifest.updates[-1:] == [f"delete {digest}"]:
            return _already(folder, manifest)
        old, missing = _there(folder, names)
        _refuse(folder, missing)
        expected = replace(
            manifest,
            documents=manifest.documents - old.documents,
            postings=manifest.postings - old.postings,
            impacts=manifest.impacts - old.impacts,
        )

        def apply(copy: Path) -> None:
            gone = jvm.java_class("java.util.ArrayList")()
            for name in names:
                gone.add(name)
            with jvm.deferred_interrupt(), told(copy, "write", WRITABLE):
                jvm.our_class("ImpactIndexer").delete(str(copy), gone)

        return _change(folder, manifest, expected, f"delete {digest}", apply)


def _refuse(folder: Path, missing: list[str]) -> None:
    if missing:
        raise NotFoundError(f"{folder} has no document {missing[0]!r}; nothing was deleted")


def _there(folder: Path, docids: Iterable[str]) -> tuple[LuceneCounts, list[str]]:
    """What an index has of some documents, and those that it has not; a few are read at a time."""
    documents = postings = impacts = 0
    missing = []
    asked = iter(docids)
    with Postings(folder) as opened:
        while part := list(islice(asked, BATCH)):
            for docid, found in zip(part, opened.vectors(part), strict=True):
                if found is None:
                    missing.append(docid)
                    continue
                documents += 1
                postings += len(found)
                impacts += sum(found.values())
    return LuceneCounts(documents, postings, impacts), missing


def _check_encoder(folder: Path, manifest: IndexManifest, source: Path, encoder: str) -> None:
    if manifest.encoder is None:
        message = f"{folder} does not say how its documents were encoded, as after --foreign"
        raise ArtifactError(f"{message}; build it again, of all vectors together")
    if manifest.encoder != encoder:
        message = f"{source} was encoded in another way than the documents of {folder}"
        raise ArtifactError(f"{message}; take the same --model, settings and --counts")


def _impact_manifest(folder: Path) -> IndexManifest:
    """Of an index that is whole; a change that was killed in its last moment is undone."""
    restore(folder)
    manifest = IndexManifest.load(folder)
    check_lucene_counts(folder, manifest)
    if manifest.kind != "impact":
        raise ArtifactError(f"{folder} is a {manifest.kind} index; only impact indexes change")
    return manifest


def _change(
    folder: Path,
    manifest: IndexManifest,
    expected: IndexManifest,
    change: str,
    apply: Callable[[Path], None],
) -> IndexManifest:
    """Change a copy, count, and put it in place."""
    expected = replace(expected, updates=[*manifest.updates, change], optimized=False)
    copy = sibling(folder, "building")
    remove(copy)
    try:
        copy.mkdir()
        for path in folder.iterdir():
            if path.name != "write.lock":
                _link(path, copy / path.name)
        apply(copy)
        check_lucene_counts(copy, expected)
        swap_in(copy, folder, expected)
    finally:
        remove(copy)
    logger.info("%s: %d documents now", folder, expected.documents)
    return expected


def _link(path: Path, copy: Path) -> None:
    try:
        os.link(path, copy)
    except OSError:  # another device, or a file system without links
        shutil.copy2(path, copy)


def _already(folder: Path, manifest: IndexManifest) -> IndexManifest:
    logger.info("%s: this was the last change already", folder)
    return manifest
