"""The README next to an export: how to load it into the engine, and how to search it.

::

    index/pydoc.spade.opensearch.README.md         the calls, with the names of this export
    index/pydoc.spade.opensearch.tokenizer.json    the WordPieces, to make queries without the index
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from string import Template

from spade_pyserini.errors import ArtifactError
from spade_pyserini.export.readme_texts import NO_TOKENIZER, QUERY_SUFFIXES, TEXTS, TOPICS
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.index_manifest import tokenizer_path
from spade_pyserini.formats.outputs import refuse_existing
from spade_pyserini.formats.paths import safe_file_name, sibling
from spade_pyserini.index.opening import index_tokenizer, locate, open_postings
from spade_pyserini.models.wordpieces import WordPieces

README = "README.md"
EXAMPLE_TERMS = 2


@dataclass(frozen=True)
class Export:
    """An export, as its README describes it.

    engine: ``ciff``, ``pisa``, ``opensearch`` or ``milvus``.
    index: the impact index. tokenizer: its tokenizer, if the index was built without one.
    output: the file or folder that was written, or the start of the names of several files. The
        README is next to it.
    collection: the name of the index or collection in the engine.
    uri: the address of Milvus.
    field, with_text: for OpenSearch, the type of the field, and whether texts were written.
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


def write_readme(export: Export, *, overwrite: bool = False) -> Path:
    """Write the README, and the tokenizer if there is one; return the path of the README."""
    refuse_existing(export.readme, overwrite)
    wordpieces = _tokenizer(export)
    if wordpieces is not None:
        wordpieces.save(tokenizer_path(export.output))
    manifest = locate(export.index, foreign=True).manifest
    name = export.output.name
    uri = Path(export.uri).name if export.uri and "://" not in export.uri else export.uri
    values = {
        "name": name,
        "name_literal": json.dumps(name),
        "file": shlex.quote(name),
        "corpus": manifest.corpus,
        "model": manifest.model,
        "documents": f"{manifest.documents:,}",
        "collection": export.collection,
        "uri_literal": json.dumps(uri),
        "example": example_query(export.index),
        "field": export.field,
        "text_flag": " --with-text" if export.with_text else "",
        "engine": export.engine,
        "tokenizer_literal": json.dumps(tokenizer_path(Path(name)).name),
        "tokenizer": shlex.quote(tokenizer_path(Path(name)).name),
        "queries": f"queries.{QUERY_SUFFIXES[export.engine]}",
    }
    topics = Template(NO_TOKENIZER if wordpieces is None else TOPICS[export.engine])
    text = Template(TEXTS[export.engine]).substitute(values, topics=topics.substitute(values))
    with atomic_write(export.readme) as stream:
        stream.write(text.encode())
    return export.readme


def collection_name(name: str) -> str:
    """Return an index name that OpenSearch and Elasticsearch accept: ``Pydoc`` gives ``pydoc``."""
    return safe_file_name(name).lower().lstrip("-_+") or "unnamed"


def example_query(index: Path) -> str:
    """Return a query that has hits: the words with the largest impacts in a document."""
    with open_postings(index, check=False) as postings:
        for _, impacts in postings.all_vectors(1):
            ranked = sorted(impacts, key=lambda term: (-impacts[term], term))
            words = [term for term in ranked if re.fullmatch(r"[a-z]{3,}", term)]
            if words:
                return " ".join(words[:EXAMPLE_TERMS])
    return "your query"


def _tokenizer(export: Export) -> WordPieces | None:
    try:
        return index_tokenizer(export.index, export.tokenizer)
    except ArtifactError:  # the index was built without one
        return None
