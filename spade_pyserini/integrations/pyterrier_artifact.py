"""An index as an artifact of PyTerrier: how `pt.Artifact.load` recognizes it, and its package.

PyTerrier calls `describe_index` through an entry point (see ``setup.cfg``), even for artifacts of
other packages. Therefore, this module imports neither PyTerrier nor Java. The manifest and the
tokenizer of an index are next to its folder. A package is a single folder with all these files::

    index/                  the Lucene index
    index.manifest.json
    index.tokenizer.json
    pt_meta.json            type and format of the artifact
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from spade_pyserini.formats.index_manifest import IndexManifest, manifest_path, tokenizer_path
from spade_pyserini.formats.query_side import TABLE, weights_path

TYPE, FORMAT = "sparse_index", "spade_pyserini"
META, INDEX = "pt_meta.json", "index"
METADATA = {"type": TYPE, "format": FORMAT, "package_hint": "spade_pyserini"}


def describe_index(path: str, listing: list[str]) -> dict[str, str] | None:
    """Return the metadata of the index at ``path``; None if it is not an index of spade_pyserini.

    ``listing`` has the names of the files in ``path``.
    """
    folder = Path(path)
    is_index = any(name.startswith("segments_") for name in listing)
    return dict(METADATA) if is_index and manifest_path(folder).is_file() else None


def index_folder(path: Path) -> Path:
    """Return the folder of the Lucene index: ``path/index`` in a package, otherwise ``path``."""
    inner = path / INDEX
    return inner if manifest_path(inner).is_file() else path


def package_files(folder: Path) -> Iterator[tuple[str, Path | bytes]]:
    """Yield the files of a package: the name in the package, and the path or the contents."""
    side = IndexManifest.load(folder).query
    siblings = [manifest_path(folder), tokenizer_path(folder)]
    if side.kind == TABLE:
        siblings.append(weights_path(folder, side))
    for path in sorted(folder.iterdir()):
        yield f"{INDEX}/{path.name}", path
    for path in siblings:
        if path.is_file():
            yield INDEX + path.name.removeprefix(folder.name), path
    yield META, json.dumps(METADATA).encode()
