"""Load the tokenizer of an impact index."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini.errors import ArtifactError
from spade_pyserini.formats.index_manifest import IndexManifest, tokenizer_path
from spade_pyserini.index.describe import describe_index
from spade_pyserini.models.wordpieces import WordPieces, resolve_tokenizer


def index_tokenizer(folder: Path, tokenizer: str | Path | None = None) -> WordPieces:
    """Load the tokenizer of the index in ``folder``, or ``tokenizer`` if it is given.

    ``tokenizer`` is a file, or the folder or name of a model. It is necessary if the index was
    built by another tool. Raises `ArtifactError` if it is not the tokenizer of the index's terms.
    """
    manifest = describe_index(folder) if tokenizer else IndexManifest.load(folder)
    if manifest.kind != "impact":
        raise ArtifactError(f"{folder} is a {manifest.kind} index, it has no WordPieces")
    source = resolve_tokenizer(tokenizer) if tokenizer else tokenizer_path(folder)
    if not source.exists():
        unknown = manifest.tokenizer_fingerprint is None
        cure = "give tokenizer=PATH" if unknown else "build the index again with overwrite=True"
        raise ArtifactError(f"{folder}: {source} is missing; {cure}")
    wordpieces = WordPieces.load(source)
    if manifest.tokenizer_fingerprint not in (None, wordpieces.fingerprint):
        raise ArtifactError(
            f"{folder} was made with another tokenizer than {source}; "
            "use the one that its documents were encoded with"
        )
    return wordpieces
