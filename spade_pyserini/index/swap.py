"""An index in the place of another one: kill -9 at any moment leaves one of them whole.

The old index stands beside, under another name, until the new one is in its place with its
manifest. Whoever writes there next calls `restore` first.
"""

from __future__ import annotations

from pathlib import Path

from spade_pyserini.errors import ArtifactError, InputError
from spade_pyserini.formats.files import remove, sibling
from spade_pyserini.formats.index_manifest import BEFORE, IndexManifest
from spade_pyserini.index.verify import check_lucene_counts


def swap_in(made: Path, folder: Path, manifest: IndexManifest) -> None:
    """Give the index ``made`` its name and its manifest, and remove the one that had them."""
    if folder.exists():
        folder.replace(sibling(folder, BEFORE))
    else:  # a manifest alone is finished by the same call; a folder alone would be refused
        manifest.save(folder)
    made.replace(folder)
    manifest.save(folder)
    remove(sibling(folder, BEFORE))


def restore(folder: Path) -> None:
    """Undo what was killed before it was whole."""
    before = sibling(folder, BEFORE)
    if before.exists() and not is_intact(folder):
        remove(folder)
        before.replace(folder)
    remove(before)


def is_intact(folder: Path) -> bool:
    """Whether an index has as much as its manifest says."""
    try:
        check_lucene_counts(folder, IndexManifest.load(folder))
    except (ArtifactError, InputError):
        return False
    return True
