"""The tokenizer of an impact index, next to its folder.

While an index is replaced by one with another tokenizer, the new tokenizer has a private name until
the new manifest is in place (`staged_tokenizer`). Readers take the tokenizer with the fingerprint
in the manifest. After a kill, `settle_tokenizer` renames or removes the files with private names.
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
    built by another tool. Raises `ArtifactError` if it is not the tokenizer of the index's terms.
    """
    if manifest.kind != "impact":
        raise ArtifactError(f"{folder} is a {manifest.kind} index, it has no WordPieces")
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
            f"{folder} was made with another tokenizer than {source}; "
            "use the one that its documents were encoded with"
        )
    return wordpieces


@contextmanager
def staged_tokenizer(folder: Path, wordpieces: WordPieces | None) -> Iterator[None]:
    """Write a tokenizer under a private name; after the block, give it its final name.

    Without ``wordpieces``, remove the tokenizer after the block.
    """
    settle_tokenizer(folder)
    staged = private_sibling(folder, STAGED)
    if wordpieces is not None:
        # The temporary file is named after the final one: a later command recognizes it.
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
    """After a kill, keep the staged tokenizer that the manifest needs and remove others."""
    remove_leftovers(tokenizer_path(folder))
    staged = private_siblings(folder, STAGED)
    if staged and manifest_path(folder).is_file():
        try:
            expected = IndexManifest.load(folder).tokenizer_fingerprint
        except SpadeError:
            return
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
