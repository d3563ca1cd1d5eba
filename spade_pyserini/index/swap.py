"""Replace an index by another one, so that kill -9 at any moment leaves one of them intact.

1. The old index is moved to a previous folder, next to the index.
2. The new index is moved to the folder of the index.
3. The new manifest replaces the old one. This is the moment of the change: before it, readers use
   the old index wherever it is (`spade_pyserini.index.opening`), afterwards the new one.
4. The previous folder is removed.

Every function that writes an index calls `restore` first, which completes or undoes a replacement
that was interrupted.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from spade_pyserini.errors import ArtifactError, InputError, SpadeError
from spade_pyserini.formats.index_manifest import (
    PREVIOUS,
    IndexManifest,
    manifest_path,
    previous_paths,
)
from spade_pyserini.formats.paths import remove
from spade_pyserini.formats.private_names import private_sibling
from spade_pyserini.index.checksums import check_index_files
from spade_pyserini.index.counts import check_lucene_counts
from spade_pyserini.index.opening import commit_digest, folder_of


def swap_in(new: Path, folder: Path, manifest: IndexManifest) -> IndexManifest:
    """Move the index ``new`` to ``folder``, write its manifest, and remove the old index.

    Returns the manifest as it was written.
    """
    manifest = replace(manifest, commit=commit_digest(new))
    previous = private_sibling(folder, PREVIOUS)
    if folder.exists():
        _bind_manifest(folder)
        folder.replace(previous)
    else:
        # After a kill at this point, the next build finds a manifest without a folder and builds
        # again. It would refuse to replace a folder without a manifest.
        manifest.save(folder)
    new.replace(folder)
    manifest.save(folder)
    remove(previous)
    return manifest


def _bind_manifest(folder: Path) -> None:
    """Add the commit to a manifest of an earlier version: readers tell the folders apart by it."""
    try:
        old = IndexManifest.load(folder)
    except SpadeError:  # a damaged index, or one without a manifest
        return
    if old.commit is None:
        replace(old, commit=commit_digest(folder)).save(folder)


def restore(folder: Path) -> None:
    """Clean up after an interrupted `swap_in`.

    Removes the previous index if the new one is complete, and moves it back otherwise.
    """
    if previous := [path for path in previous_paths(folder) if path.is_dir()]:
        valid = _valid_folder(folder, previous)
        if valid != folder:
            remove(folder)
            valid.replace(folder)
        for path in previous:
            remove(path)


def _valid_folder(folder: Path, previous: list[Path]) -> Path:
    """Return the folder that the manifest belongs to, or without a manifest one that is intact."""
    if manifest_path(folder).is_file():
        try:
            manifest = IndexManifest.load(folder)
        except SpadeError:
            return folder if folder.is_dir() else previous[0]
        if manifest.commit is not None:
            return folder_of(folder, manifest)
    return folder if is_intact(folder) else previous[0]


def is_intact(folder: Path) -> bool:
    """Return whether an index has a manifest with its counts, and files with correct checksums."""
    try:
        manifest = IndexManifest.load(folder)
        check_lucene_counts(folder, manifest)
        check_index_files(folder)
    except (ArtifactError, InputError, OSError):
        return False
    return True
