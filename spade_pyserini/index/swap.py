"""Replace an index by another one, so that kill -9 at any moment leaves one of them intact.

The old index is moved to `previous_path` and removed only after the new index and its manifest have
their final names. Every function that writes an index calls `restore` first, which completes or
undoes a replacement that was interrupted.
"""

from __future__ import annotations

from pathlib import Path

from spade_pyserini.errors import ArtifactError, InputError
from spade_pyserini.formats.index_manifest import IndexManifest, previous_path
from spade_pyserini.formats.paths import remove
from spade_pyserini.index.counts import check_lucene_counts


def swap_in(new: Path, folder: Path, manifest: IndexManifest) -> None:
    """Move the index ``new`` to ``folder`` with its manifest, and remove the old index."""
    if folder.exists():
        folder.replace(previous_path(folder))
    else:
        # After a kill at this point, the next build finds a manifest without a folder and builds
        # again. It would refuse to replace a folder without a manifest.
        manifest.save(folder)
    new.replace(folder)
    manifest.save(folder)
    remove(previous_path(folder))


def restore(folder: Path) -> None:
    """Clean up after an interrupted `swap_in`.

    Moves the previous index back unless the new one is intact, and removes it otherwise.
    """
    previous = previous_path(folder)
    if previous.exists() and not is_intact(folder):
        remove(folder)
        previous.replace(folder)
    remove(previous)


def is_intact(folder: Path) -> bool:
    """Return whether an index has a manifest and the counts that the manifest records."""
    try:
        check_lucene_counts(folder, IndexManifest.load(folder))
    except (ArtifactError, InputError):
        return False
    return True
