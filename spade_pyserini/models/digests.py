"""Digests of the files of a model, which show damage before the model is used.

``digests.json`` is in the folder of the weights. Earlier versions of this package do not read it.
A model without ``digests.json`` can be loaded, too. When it is loaded for the first time, the
digest of its weights is recorded on this machine. Every later load compares the weights with this
digest (`spade_pyserini.formats.known_files`).
"""

from __future__ import annotations

import logging
from pathlib import Path

from spade_pyserini.errors import ArtifactError
from spade_pyserini.formats.digests import sha256
from spade_pyserini.formats.known_files import KnownFile, identity, known_files, remember_files
from spade_pyserini.formats.paths import remove
from spade_pyserini.formats.sealed_json import read_sealed, write_sealed

FORMAT = "spade_pyserini.digests/1"
DIGESTS = "digests.json"
SETTINGS = "config.json"  # users may edit this file, so a change causes a warning, not an error
CURE = "copy or download the model again"

logger = logging.getLogger(__name__)


def forget_digests(folder: Path) -> None:
    """Remove the digests of a model.

    Call this before files of the model change, so that no wrong digests can remain.
    """
    remove(folder / DIGESTS)


def write_digests(folder: Path, names: list[str]) -> None:
    """Write the digests of the files ``names`` of a model."""
    digests = {name: sha256(folder / name) for name in names}
    write_sealed(folder / DIGESTS, {"format": FORMAT, "files": digests})


def check_digests(folder: Path, weights: str) -> None:
    """Raise `ArtifactError` if a file of a model has changed since the model was saved.

    ``weights`` is the name of the file with the weights. If the model has no digests,
    `check_known_weights` checks this file.
    """
    if not (folder / DIGESTS).is_file():
        check_known_weights(folder, [weights])
        return
    for name, digest in read_sealed(folder / DIGESTS, FORMAT)["files"].items():
        path = folder / name
        if not path.is_file():
            raise ArtifactError(f"{path}: the file is missing; {CURE}")
        if sha256(path) == digest:
            continue
        if name != SETTINGS:
            message = f"{path}: damaged or replaced, it differs from its digest in {DIGESTS}"
            cure = f"{CURE}. If you changed it on purpose, remove {DIGESTS}"
            raise ArtifactError(f"{message}; {cure}")
        logger.warning("%s was edited after the model was saved", path)


def check_known_weights(folder: Path, names: list[str]) -> None:
    """Compare the weights of a model that has no digests with the weights that were loaded earlier.

    If the contents of a file have changed, but its inode, size and modification time have not, the
    file is damaged, and `ArtifactError` is raised. If one of these three has changed, too, the file
    may have been replaced on purpose, and a warning is logged.
    """
    known, current = known_files(folder), {}
    for name in names:
        path = folder / name
        if not path.is_file():
            continue
        entry = current[name] = KnownFile(identity(path), sha256(path))
        before = known.get(name, entry)
        if before.sha256 == entry.sha256:
            continue
        if before.identity == entry.identity:
            message = f"{path}: damaged, its contents changed since it was last loaded"
            raise ArtifactError(f"{message}, but not its modification time; {CURE}")
        logger.warning(
            "%s: the weights have changed since they were last loaded; if nobody replaced them, %s",
            *(path, CURE),
        )
    if current != known:
        remember_files(folder, current)
