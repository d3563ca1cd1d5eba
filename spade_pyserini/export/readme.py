"""Write the README of an export: how to load it into the engine, and how to search it.

::

    index/pydoc.spade.opensearch.README.md         the calls, with the names of this export
    index/pydoc.spade.opensearch.tokenizer.json    the WordPieces, to make queries without the index
    index/pydoc.spade.opensearch.queries.json      how queries are encoded, unless they are boolean
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from string import Template

from spade_pyserini.errors import ArtifactError
from spade_pyserini.export.examples import EXAMPLE, example_weights
from spade_pyserini.export.readme_engines import QUERY_SUFFIXES, TEXTS, TOPICS
from spade_pyserini.export.readme_texts import NEURAL_PARTS, NO_TOKENIZER, introduction
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.index_manifest import tokenizer_path
from spade_pyserini.formats.outputs import refuse_existing, refuse_special
from spade_pyserini.formats.paths import safe_file_name, sibling
from spade_pyserini.formats.query_side import (
    BOOLEAN,
    NEURAL,
    QuerySide,
    load_weights,
    save_side,
    side_path,
)
from spade_pyserini.index.opening import index_tokenizer, locate
from spade_pyserini.models.wordpieces import WordPieces

README = "README.md"


@dataclass(frozen=True)
class Export:
    """The properties of an export that its README describes.

    engine: ``ciff``, ``pisa``, ``opensearch``, ``milvus``, ``qdrant``, ``seismic`` or ``bmp``.
    index: the impact index. tokenizer: the tokenizer to use if the index was built without one.
    output: the file or folder of the export, or the first part of the names of its files. The
        README is next to it.
    collection: the name of the index or collection in the engine.
    uri: the address of Milvus.
    field, with_text: for OpenSearch, the type of the field with the impacts, and whether texts were
        written.
    """

    engine: str
    index: Path
    output: Path
    tokenizer: str | None = None
    collection: str = ""
    uri: str = ""
    field: str = ""
    with_text: bool = False

    @property
    def readme(self) -> Path:
        """The path of the README."""
        return sibling(self.output, README)


@contextmanager
def readme_of(export: Export, *, overwrite: bool = False) -> Iterator[Path]:
    """Write the README, the tokenizer and the description of queries; yield the README's path.

    The caller writes the export in the ``with`` block. These files are written before the
    export, so an export is never without them. An existing README with the same text, such as that
    of an interrupted export, is replaced without ``overwrite``. If the block raises an error, the
    files that did not exist before are removed.
    """
    files = [export.readme, tokenizer_path(export.output), side_path(export.output)]
    new = [path for path in files if not path.exists()]
    try:
        _write(export, overwrite)
        yield export.readme
    except BaseException:
        for path in new:
            path.unlink(missing_ok=True)
        raise


def _write(export: Export, overwrite: bool) -> None:
    """Write the README, the tokenizer if there is one, and the description of queries."""
    wordpieces = _tokenizer(export)
    side = locate(export.index, foreign=True).manifest.query
    values = {**_properties(export), **_queries(export, side)}
    topics = Template(NO_TOKENIZER if wordpieces is None else TOPICS[export.engine])
    texts = {
        "introduction": Template(introduction(side)).substitute(values),
        "topics": topics.substitute(values),
    }
    text = Template(TEXTS[export.engine]).substitute(values, **texts).encode()
    refuse_special(export.readme)
    same = export.readme.exists() and export.readme.read_bytes() == text
    refuse_existing(export.readme, overwrite or same)
    if wordpieces is not None:
        wordpieces.save(tokenizer_path(export.output))
    save_side(export.output, side, load_weights(export.index, side))
    with atomic_write(export.readme) as stream:
        stream.write(text)


def _properties(export: Export) -> dict[str, str]:
    """Return the template's values for properties of the export, such as its name and engine."""
    manifest = locate(export.index, foreign=True).manifest
    name = export.output.name
    uri = Path(export.uri).name if export.uri and "://" not in export.uri else export.uri
    return {
        "name": name,
        "name_literal": json.dumps(name),
        "file": shlex.quote(name),
        "corpus": manifest.corpus,
        "model": manifest.model,
        "documents": f"{manifest.documents:,}",
        "collection": export.collection,
        "uri_literal": json.dumps(uri),
        "field": export.field,
        "text_flag": " --with-text" if export.with_text else "",
        "engine": export.engine,
        "queries": f"queries.{QUERY_SUFFIXES[export.engine]}",
    }


def _queries(export: Export, side: QuerySide) -> dict[str, str]:
    """Return the template's values for an example query and for the encoding of queries."""
    name = Path(export.output.name)
    tokenizer, description = tokenizer_path(name).name, side_path(name).name
    flags, arguments = ["--tokenizer", tokenizer], [json.dumps(tokenizer)]
    if side != BOOLEAN:
        flags += ["--query-side", description]
        arguments.append(json.dumps(description))
    if side.kind == NEURAL:
        flags += ["--query-encoder", side.model]
        arguments.append(f"neural_queries({json.dumps(side.model)})")
    example = example_weights(export.index)
    values = {
        "example": " ".join(example) or EXAMPLE,
        "example_weights": json.dumps(example),
        "side": description,
        "query_model": side.model,
        "prompt": side.prompt,
        "encoding": shlex.join(flags),
        "query_arguments": ", ".join(arguments),
    }
    parts = NEURAL_PARTS if side.kind == NEURAL else dict.fromkeys(NEURAL_PARTS, "")
    return {**values, **{key: Template(text).substitute(values) for key, text in parts.items()}}


def collection_name(name: str) -> str:
    """Return an index name that OpenSearch and Elasticsearch accept: ``Pydoc`` gives ``pydoc``."""
    return safe_file_name(name).lower().lstrip("-_+") or "unnamed"


def _tokenizer(export: Export) -> WordPieces | None:
    try:
        return index_tokenizer(export.index, export.tokenizer)
    except ArtifactError:  # the index was built without a tokenizer
        return None
