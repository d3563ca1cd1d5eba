"""Build an index in a staging folder next to the output; then replace the output by the index.

A folder with a manifest is a complete index. A folder without a manifest was not written by this
package, so it is replaced only with ``overwrite``. A manifest without a folder was left by a killed
build; calling the same function again builds the index.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from spade_pyserini.errors import ArtifactError, OutputExistsError
from spade_pyserini.formats.atomic import report_full_disk
from spade_pyserini.formats.index_manifest import IndexManifest, manifest_path
from spade_pyserini.formats.locks import lock
from spade_pyserini.formats.outputs import refuse_link
from spade_pyserini.formats.paths import folder_bytes, remove, sibling
from spade_pyserini.formats.tables import counted
from spade_pyserini.formats.temporary import temporary_folder
from spade_pyserini.index.swap import is_intact, restore, swap_in
from spade_pyserini.lucene.errors import REBUILD

logger = logging.getLogger(__name__)
LUCENE_FILE = re.compile(r"segments_\w+|write\.lock|_\w+\.\w+")
# Fields that must be equal to reuse an existing index, and their names in error messages.
COMPARED = {
    "source_sha256": "input",
    "tokenizer_fingerprint": "tokenizer",
    "builder": "builder",
    "optimized": "optimize",
    "reordered": "reorder",
    "keep": "keep",
    "prune_ratio": "prune_ratio",
}


@contextmanager
def index_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of an index while it is written. A symbolic link to an index is an error.

    A writer replaces the folder at the end. If ``folder`` were a link, the writer would replace the
    link and leave its target unchanged.
    """
    refuse_link(folder)
    with lock(folder):
        yield


def build_in_staging(
    output: Path,
    expected: IndexManifest,
    build: Callable[[Path], IndexManifest],
    overwrite: bool,
) -> IndexManifest:
    """Call ``build`` with a staging folder, move the result to ``output``, return its manifest.

    If ``output`` is already the index that ``expected`` describes, nothing is built. The caller
    holds the lock of ``output``.
    """
    restore(output)
    if manifest_path(output).exists() and output.exists() and not overwrite:
        existing = IndexManifest.load(output)
        _check_same_build(output, existing, expected)
        if is_intact(output):
            remove(log_path(output))  # left by a build that was killed after its last step
            logger.info("%s: already built from the same input", output)
            return existing
        logger.warning("%s is damaged: building it again", output)
    elif output.exists():
        check_replaceable(output, LUCENE_FILE, overwrite)
    with report_full_disk(output), temporary_folder(output) as staging:
        manifest = swap_in(staging, output, _named(output, build, staging))
    remove(log_path(output))
    size = folder_bytes(output) / 1e6
    logger.info("%s: %s, %.2f MB", output, counted(manifest.documents, "document"), size)
    if empty := manifest.empty_documents:
        verb = "is" if empty == 1 else "are"
        logger.warning("%s %s empty and cannot be retrieved", counted(empty, "document"), verb)
    return manifest


def _named(output: Path, build: Callable[[Path], IndexManifest], staging: Path) -> IndexManifest:
    """Call ``build``; adapt the messages of its errors to what the user sees.

    The path of the staging folder is replaced by ``output``. If there is a log of Anserini, the
    advice to build the index again is replaced by the path of the log.
    """
    try:
        return build(staging)
    except ArtifactError as error:
        message = str(error).replace(str(staging), str(output))
        if (log := log_path(output)).is_file():
            message = message.replace(REBUILD, f"the log of Anserini is {log}")
        raise ArtifactError(message) from None


def _check_same_build(output: Path, existing: IndexManifest, expected: IndexManifest) -> None:
    """Raise `OutputExistsError` unless building ``expected`` would give the existing index."""
    if existing.updates:
        message = f"documents were added to or deleted from {output} after it was built"
        raise OutputExistsError(f"{message}; pass overwrite=True to discard these changes")
    different = [
        name
        for field, name in COMPARED.items()
        if getattr(existing, field) != getattr(expected, field)
    ]
    if different:
        message = f"{output} was built from other input or with other options"
        message += f" (different: {', '.join(different)})"
        raise OutputExistsError(f"{message}; pass overwrite=True to replace it")


def check_replaceable(folder: Path, index_file: re.Pattern[str], overwrite: bool) -> None:
    """Raise `OutputExistsError` unless ``folder`` may be replaced by an index.

    It may be replaced if ``overwrite`` is true and the names of all its files match ``index_file``.
    """
    if not folder.is_dir():
        raise OutputExistsError(f"{folder} is a file; choose another output")
    for path in folder.iterdir():
        if not index_file.fullmatch(path.name):
            message = f"{folder} contains {path.name}, which is not a file of an index"
            raise OutputExistsError(f"{message}; choose another output")
    if not overwrite:
        raise OutputExistsError(f"{folder} exists already; pass overwrite=True to replace it")


def log_path(output: Path) -> Path:
    """Return the path of Anserini's log, which exists while Anserini builds and after it failed."""
    return sibling(output, "log")
