"""Open an index for reading, even while another process replaces it.

A change of an index is complete as soon as its manifest is replaced, which is atomic; see
`spade_pyserini.index.swap`. Until then the old manifest is valid, and the files that it describes
are in the folder of the index or, after the first rename, in a folder next to the index (a
"previous folder"). `open_index` reads the manifest and opens the folder that the manifest
describes. If this fails because the index changed meanwhile, `open_index` tries again. A reader
therefore sees the old or the new index, never a mixture, even if the writing process was killed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from spade_pyserini.errors import ArtifactError, InputError, NotFoundError
from spade_pyserini.formats.digests import sha256
from spade_pyserini.formats.index_manifest import IndexManifest, manifest_path, previous_paths
from spade_pyserini.index.checksums import check_index_files
from spade_pyserini.index.describe import describe_index
from spade_pyserini.index.postings import Postings
from spade_pyserini.index.queries import MakeQueries, index_queries
from spade_pyserini.index.tokenizer import load_tokenizer
from spade_pyserini.lucene.errors import REBUILD
from spade_pyserini.models.queries import QueryEncoder
from spade_pyserini.models.wordpieces import WordPieces

T = TypeVar("T")
SEGMENTS = re.compile(r"segments_([0-9a-z]+)")  # the group is the number of the commit, in base 36
ATTEMPTS = 100  # number of attempts to open an index that keeps changing


@runtime_checkable
class Closable(Protocol):
    """An object with a method ``close``."""

    def close(self) -> None: ...


class IndexFiles(NamedTuple):
    """The folder that currently has the files of an index, and their manifest."""

    folder: Path
    manifest: IndexManifest


def open_index(
    index: Path,
    opener: Callable[[IndexFiles], T],
    *,
    check: bool = True,
    foreign: bool = False,
) -> T:
    """Call ``opener`` with the files of ``index`` and return its result.

    With ``check``, files that were not checked before are compared with their checksums. With
    ``foreign``, an index without a manifest is accepted.
    """

    def attempt() -> T:
        files = locate(index, foreign=foreign)
        if check:
            check_index_files(files.folder, index)
        opened = opener(files)
        if files.manifest.commit not in (None, commit_digest(files.folder)):
            if isinstance(opened, Closable):
                opened.close()
            raise ArtifactError(f"{index}: its files do not belong to its manifest; {REBUILD}")
        return opened

    return retry_changes(index, attempt)


def open_postings(index: str | Path, *, check: bool = True) -> Postings:
    """Open the postings of an impact index, with or without a manifest."""

    def opener(files: IndexFiles) -> Postings:
        if files.manifest.kind != "impact":
            message = f"{index} is a {files.manifest.kind} index, which has no impacts"
            raise ArtifactError(f"{message}; give an impact index")
        return Postings(files.folder)

    return open_index(Path(index), opener, check=check, foreign=True)


def index_tokenizer(index: Path, tokenizer: str | Path | None = None) -> WordPieces:
    """Load the tokenizer of an index, or ``tokenizer`` if it is given.

    `spade_pyserini.index.tokenizer.load_tokenizer` explains ``tokenizer`` and the errors.
    """
    index = follow_link(index)
    return retry_changes(
        index,
        lambda: load_tokenizer(index, locate(index, foreign=bool(tokenizer)).manifest, tokenizer),
    )


def open_index_queries(
    index: Path, tokenizer: str | Path | None = None, queries: MakeQueries | None = None
) -> QueryEncoder:
    """Return the query encoder for an index, see `spade_pyserini.index.queries.index_queries`."""

    def attempt() -> QueryEncoder:
        manifest = locate(index, foreign=bool(tokenizer)).manifest
        return index_queries(index, manifest, load_tokenizer(index, manifest, tokenizer), queries)

    return retry_changes(index, attempt)


def retry_changes(index: Path, function: Callable[[], T]) -> T:
    """Call ``function`` and return its result, even if another process changes the index.

    If the call raises an error and the index has changed since the call began, the call is
    repeated, up to `ATTEMPTS` times. If the index has not changed, the error is raised.
    """
    for _ in range(ATTEMPTS):
        before = index_state(index)
        try:
            return function()
        except (ArtifactError, InputError, NotFoundError, OSError):
            if index_state(index) == before:
                raise
    raise ArtifactError(f"{index} keeps changing; wait until no process writes it")


def follow_link(index: Path) -> Path:
    """Return the index that a symbolic link points to, unless the link has a manifest of its own.

    The manifest and the tokenizer of an index are next to it, not next to a link.
    """
    if index.is_symlink() and not manifest_path(index).is_file():
        return index.resolve()
    return index


def locate(index: Path, *, foreign: bool = False) -> IndexFiles:
    """Return the manifest of an index, and the folder whose files the manifest describes.

    With ``foreign``, an index without a manifest is accepted. The manifest that is returned for it
    has the counts that Lucene reports.
    """
    index = follow_link(index)
    has_manifest = manifest_path(index).is_file()
    if foreign and not has_manifest:
        candidates = [path for path in (index, *previous_paths(index)) if path.is_dir()]
        folder = next(iter(candidates), index)
        return IndexFiles(folder, describe_index(folder))
    manifest = IndexManifest.load(index)
    return IndexFiles(folder_of(index, manifest), manifest)


def folder_of(index: Path, manifest: IndexManifest) -> Path:
    """Return the folder with the files of ``manifest``: ``index`` or a previous folder."""
    folders = [path for path in (index, *previous_paths(index)) if path.is_dir()]
    if manifest.commit is not None:
        # ``index`` is preferred: a previous folder may be removed while it is read.
        own = (path for path in folders if commit_digest(path) == manifest.commit)
        return next(own, index)
    return next(iter(folders), index)


def commit_digest(folder: Path) -> str | None:
    """Return the digest of Lucene's newest ``segments_N`` file; None if no such file exists.

    Lucene writes a random number into this file, so two commits never have the same digest.
    """
    matches = [SEGMENTS.fullmatch(path.name) for path in folder.glob("segments_*")]
    generations = {int(match[1], 36): match[0] for match in matches if match}
    return sha256(folder / generations[max(generations)]) if generations else None


def index_state(index: Path) -> tuple[tuple[int, int] | None, ...]:
    """Return the inodes and modification times of the index folder and of its manifest.

    Every change of the index changes at least one of these values.
    """
    index = follow_link(index)
    return tuple(_inode(path) for path in (index, manifest_path(index)))


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        state = path.stat()
    except OSError:
        return None
    # A new file may get the inode of a removed file, so the modification time is compared, too.
    return state.st_ino, state.st_mtime_ns
