"""Replace an index by a new one, so that kill -9 at any moment leaves one of the two intact.

1. The old index is moved to a previous folder, next to the index.
2. The new index is moved to the folder of the index.
3. The new manifest replaces the old one. Before this step, readers use the old index, wherever it
   is (`spade_pyserini.index.opening`). After this step, they use the new index.
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
from spade_pyserini.formats.temporary import remove_leftovers
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
        # The manifest is written first: if the process is killed now, the next build finds a
        # manifest without a folder and builds again. A folder without a manifest would be an error.
        manifest.save(folder)
    new.replace(folder)
    manifest.save(folder)
    remove(previous)
    return manifest


def _bind_manifest(folder: Path) -> None:
    """Add the field ``commit`` to a manifest that lacks it, so that readers find the folder."""
    try:
        old = IndexManifest.load(folder)
    except SpadeError:  # a damaged index, or one without a manifest
        return
    if old.commit is None:
        replace(old, commit=commit_digest(folder)).save(folder)


def restore(folder: Path) -> None:
    """Clean up after an interrupted `swap_in`.

    Removes the previous index if the new index is complete; otherwise moves the previous index
    back. Temporary files of killed processes are removed, too.
    """
    remove_leftovers(manifest_path(folder))
    if previous := [path for path in previous_paths(folder) if path.is_dir()]:
        valid = _valid_folder(folder, previous)
        if valid != folder:
            remove(folder)
            valid.replace(folder)
        for path in previous:
            remove(path)


def _valid_folder(folder: Path, previous: list[Path]) -> Path:
    """Return the folder with the valid index, usually the one whose commit the manifest names.

    If the manifest has no commit, return ``folder`` if it is intact, otherwise a previous folder.
    If there is no manifest, return a previous folder. If the manifest cannot be read, return
    ``folder`` if it exists, otherwise a previous folder.
    """
    if manifest_path(folder).is_file():
        try:
            manifest = IndexManifest.load(folder)
        except SpadeError:
            return folder if folder.is_dir() else previous[0]
        if manifest.commit is not None:
            return folder_of(folder, manifest)
    return folder if is_intact(folder) else previous[0]


def is_intact(folder: Path) -> bool:
    """Return whether an index has the counts of its manifest, and files with correct checksums."""
    try:
        manifest = IndexManifest.load(folder)
        check_lucene_counts(folder, manifest)
        check_index_files(folder)
    except (ArtifactError, InputError, OSError):
        return False
    return True
