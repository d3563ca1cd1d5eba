"""Read and write the tokenizer file next to the folder of an impact index.

While an index is replaced by an index with another tokenizer, the new tokenizer has a temporary
name until the new manifest is written (`staged_tokenizer`). Readers use the tokenizer whose
fingerprint is in the manifest. If the process was killed, the next writer calls `settle_tokenizer`,
which renames or removes the files with temporary names.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spade_pyserini.errors import ArtifactError, SpadeError
from spade_pyserini.formats.index_manifest import IndexManifest, manifest_path, tokenizer_path
from spade_pyserini.formats.paths import remove
from spade_pyserini.formats.private_names import private_sibling, private_siblings
from spade_pyserini.formats.temporary import remove_leftovers
from spade_pyserini.models.wordpieces import WordPieces, resolve_tokenizer

STAGED = "tokenizer"


def load_tokenizer(
    folder: Path, manifest: IndexManifest, tokenizer: str | Path | None = None
) -> WordPieces:
    """Load the tokenizer of the index in ``folder``, or ``tokenizer`` if it is given.

    ``tokenizer`` is a file, or the folder or name of a model. It is necessary if the index was
    built by another tool. Raises `ArtifactError` if the manifest has the fingerprint of another
    tokenizer, or if there is no tokenizer.
    """
    if manifest.kind != "impact":
        message = f"{folder} is a {manifest.kind} index, which has no WordPieces"
        raise ArtifactError(f"{message}; give an impact index")
    expected = manifest.tokenizer_fingerprint
    source = resolve_tokenizer(tokenizer) if tokenizer else tokenizer_path(folder)
    staged = None if tokenizer or not expected else _staged(folder, expected)
    if staged is not None and not _has_fingerprint(source, expected):
        source = staged
    if not source.exists():
        cure = "build the index again with overwrite=True" if expected else "give tokenizer=PATH"
        raise ArtifactError(f"{folder}: {source} is missing; {cure}")
    wordpieces = WordPieces.load(source)
    if expected not in (None, wordpieces.fingerprint):
        raise ArtifactError(
            f"{folder} was built with another tokenizer than {source}; "
            "use the tokenizer that the documents of the index were encoded with"
        )
    return wordpieces


@contextmanager
def staged_tokenizer(folder: Path, wordpieces: WordPieces | None) -> Iterator[None]:
    """Write a tokenizer under a temporary name; after the ``with`` block, give it its final name.

    Without ``wordpieces``, remove the tokenizer of the index after the block.
    """
    settle_tokenizer(folder)
    staged = private_sibling(folder, STAGED)
    if wordpieces is not None:
        # While the file is being written, its temporary name contains the name of the index's
        # tokenizer file. If this process is killed, later commands can find the file and remove it.
        wordpieces.save(staged, near=tokenizer_path(folder))
    try:
        yield
        if wordpieces is None:
            remove(tokenizer_path(folder))
        else:
            staged.replace(tokenizer_path(folder))
    finally:
        remove(staged)


def settle_tokenizer(folder: Path) -> None:
    """Clean up after a killed process.

    Keep the tokenizer whose fingerprint is in the manifest, and remove the others.
    """
    remove_leftovers(tokenizer_path(folder))
    staged = private_siblings(folder, STAGED)
    if staged and manifest_path(folder).is_file():
        try:
            expected = IndexManifest.load(folder).tokenizer_fingerprint
        except SpadeError:
            if folder.exists():
                return
            expected = None  # a killed build left the manifest, but no index
        own = _staged(folder, expected)
        if own is not None and not _has_fingerprint(tokenizer_path(folder), expected):
            own.replace(tokenizer_path(folder))
    for path in staged:
        remove(path)


def _staged(folder: Path, fingerprint: str | None) -> Path | None:
    staged = private_siblings(folder, STAGED)
    return next((path for path in staged if _has_fingerprint(path, fingerprint)), None)


def _has_fingerprint(path: Path, fingerprint: str | None) -> bool:
    try:
        return fingerprint is not None and WordPieces.load(path).fingerprint == fingerprint
    except SpadeError:
        return False
