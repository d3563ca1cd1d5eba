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
from pathlib import Path

from spade_pyserini import java, vectors
from spade_pyserini.errors import ArtifactError, NotFoundError
from spade_pyserini.files import beside, lock, remove, sha256
from spade_pyserini.index.direct import write_index
from spade_pyserini.index.manifest import BEFORE, IndexManifest, encoder_digest
from spade_pyserini.index.postings import Postings
from spade_pyserini.index.verify import check_counts

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
        if manifest.encoder != encoder_digest(encoded.settings):
            message = f"{source} was encoded in another way than the documents of {folder}"
            raise ArtifactError(f"{message}; take the same --model, settings and --counts")
        added = list(vectors.read_vectors(source))
        with Postings(folder) as postings:
            old = [found for found in postings.vectors([one.docid for one in added]) if found]
        expected = replace(
            manifest,
            documents=manifest.documents - len(old) + sum(bool(one.impacts) for one in added),
            empty_documents=manifest.empty_documents + encoded.empty_documents,
            postings=manifest.postings - sum(map(len, old)) + encoded.terms,
            impacts=manifest.impacts - sum(map(_sum, old)) + encoded.impacts,
        )

        def apply(copy: Path) -> None:
            files = [source / shard.file for shard in encoded.shards]
            write_index(files, copy, threads=threads, total=encoded.documents, create=False)

        return _change(folder, manifest, expected, change, apply)


def delete_documents(index: str | Path, docids: Iterable[str]) -> IndexManifest:
    """Delete documents by their ids; one that is not there is a `NotFoundError`."""
    folder, names = Path(index), sorted(set(docids))
    digest = hashlib.sha256("\n".join(names).encode()).hexdigest()
    with lock(folder):
        manifest = _impact_manifest(folder)
        if manifest.updates[-1:] == [f"delete {digest}"]:
            return _already(folder, manifest)
        with Postings(folder) as postings:
            old = postings.vectors(names)
        found = [impacts for impacts in old if impacts is not None]
        if len(found) < len(names):
            missing = names[old.index(None)]
            raise NotFoundError(f"{folder} has no document {missing!r}; nothing was deleted")
        expected = replace(
            manifest,
            documents=manifest.documents - len(found),
            postings=manifest.postings - sum(map(len, found)),
            impacts=manifest.impacts - sum(map(_sum, found)),
        )

        def apply(copy: Path) -> None:
            gone = java.java_class("java.util.ArrayList")()
            for name in names:
                gone.add(name)
            with java.deferred_interrupt():
                java.our_class("ImpactIndexer").delete(str(copy), gone)

        return _change(folder, manifest, expected, f"delete {digest}", apply)


def _sum(impacts: dict[str, int]) -> int:
    return sum(impacts.values())


def _impact_manifest(folder: Path) -> IndexManifest:
    """Of an index that is whole; a change that was killed in its last moment is undone."""
    before = beside(folder, BEFORE)
    if before.exists() and not _is_whole(folder):
        remove(folder)
        before.replace(folder)
    remove(before)
    manifest = IndexManifest.load(folder)
    check_counts(folder, manifest)
    if manifest.kind != "impact":
        raise ArtifactError(f"{folder} is a {manifest.kind} index; only impact indexes change")
    return manifest


def _is_whole(folder: Path) -> bool:
    try:
        check_counts(folder, IndexManifest.load(folder))
    except ArtifactError:
        return False
    return True


def _change(
    folder: Path,
    manifest: IndexManifest,
    expected: IndexManifest,
    change: str,
    apply: Callable[[Path], None],
) -> IndexManifest:
    """Change a copy, count, and put it in place."""
    if manifest.updates[-1:] == [change]:
        return _already(folder, manifest)
    expected = replace(expected, updates=[*manifest.updates, change], optimized=False)
    copy = beside(folder, "building")
    remove(copy)
    try:
        copy.mkdir()
        for path in folder.iterdir():
            if path.name != "write.lock":
                _link(path, copy / path.name)
        apply(copy)
        check_counts(copy, expected)
        before = beside(folder, BEFORE)
        folder.replace(before)
        copy.replace(folder)
        expected.save(folder)
        remove(before)
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
