"""Export to OpenSearch or Elasticsearch: a mapping, bulk files, and queries.

    curl -XPUT  HOST/NAME         -H 'Content-Type: application/json'     --data-binary @NAME.mapping.json
    curl -XPOST HOST/NAME/_bulk   -H 'Content-Type: application/x-ndjson' --data-binary @NAME.bulk-0000.ndjson
    curl -XPOST HOST/NAME/_search -H 'Content-Type: application/json'     --data-binary @NAME.query.json

The field types ``rank_features`` (both engines) and ``sparse_vector`` (Elasticsearch) store values
with nine significant bits, so impacts of 8 bits are exact. Both engines treat a full stop in a
feature name as a path separator; `feature` replaces it.
"""  # noqa: E501

from __future__ import annotations

import glob
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from spade_pyserini.corpora import Corpus
from spade_pyserini.errors import UsageError
from spade_pyserini.export.examples import query_weights, strongest_terms
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.json_files import write_json
from spade_pyserini.formats.locks import lock
from spade_pyserini.formats.outputs import check_writable, refuse_existing
from spade_pyserini.formats.paths import remove, sibling
from spade_pyserini.formats.private_names import private_siblings
from spade_pyserini.formats.temporary import temporary_folder
from spade_pyserini.index.opening import open_postings
from spade_pyserini.index.postings import Postings
from spade_pyserini.models.queries import QueryEncoder, as_queries
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.records import Document, ImpactVector
from spade_pyserini.search.texts import TextStream

logger = logging.getLogger(__name__)
FIELD_TYPES = ("rank_features", "sparse_vector")
FIELD = "impacts"
TEXT_FIELDS = ("title", "text")
MAPPING, QUERY = "mapping.json", "query.json"
FULL_STOP = "[full-stop]"
LARGEST_EXACT = 511  # both field types store all integers up to this one exactly
BULK_SIZE = 5000  # documents per bulk file


@dataclass(frozen=True)
class BulkOptions:
    """Options of `write_bulk`.

    field: the type of the field with the impacts, one of `FIELD_TYPES`.
    corpora: if given, titles and texts are read from these corpora and written, too. If several
        corpora have the same document, its text is read from the first of them.
    """

    field: str = FIELD_TYPES[0]
    corpora: Sequence[Corpus] = ()

    def __post_init__(self) -> None:
        if self.field not in FIELD_TYPES:
            raise UsageError(f"field must be {' or '.join(FIELD_TYPES)}, not {self.field}")

    @property
    def mapping(self) -> dict[str, Any]:
        """The body of the request that creates the index in the engine."""
        types = {name: {"type": "text"} for name in TEXT_FIELDS} if self.corpora else {}
        return {"mappings": {"properties": {FIELD: {"type": self.field}, **types}}}


def write_bulk(
    index: str | Path,
    output: str | Path,
    options: BulkOptions | None = None,
    *,
    overwrite: bool = False,
) -> list[Path]:
    """Write ``OUTPUT.mapping.json``, ``.query.json`` and ``.bulk-NNNN.ndjson``; return the paths.

    The example query has the two terms that add most to the score of the first document, with their
    weights in queries. The files are written under temporary names and then renamed, the mapping
    last: if the mapping exists, all files exist.
    """
    base = Path(output)
    check_writable(base)
    with lock(base), open_postings(index) as postings:
        old = _refuse_old(base, overwrite)
        with temporary_folder(base) as staging:
            weights = query_weights(Path(index))
            written = _write(postings, staging, options or BulkOptions(), weights)
            for path in old:  # there may be more old bulk files than new ones
                remove(path)
            for path in reversed(written):
                path.replace(sibling(base, path.name))
    return [sibling(base, path.name) for path in written]


def _refuse_old(base: Path, overwrite: bool) -> list[Path]:
    """Return the files of an earlier export; raise an error if they may not be replaced.

    The mapping is the last file that is moved from the temporary folder. If it is missing and the
    temporary folder of a killed process exists, the earlier export was interrupted, and its files
    are replaced without ``overwrite``.
    """
    old = [sibling(base, name) for name in (MAPPING, QUERY)]
    interrupted = not old[0].exists() and bool(private_siblings(base))
    old += sorted(base.parent.glob(f"{glob.escape(base.name)}.bulk-*.ndjson"))
    for path in old:
        refuse_existing(path, overwrite or interrupted)
    return old


def _write(
    postings: Postings, folder: Path, options: BulkOptions, weights: Mapping[str, int] | None
) -> list[Path]:
    """Write all files to ``folder``, named by their suffixes; return them, the mapping first."""
    field, largest = options.field, max(postings.statistics(0).impacts, default=0)
    if largest > LARGEST_EXACT:
        message = f"the largest impact is {largest}, but {field} is exact only to {LARGEST_EXACT}"
        raise UsageError(
            f"{message}; quantize to 8 bits, for example with model.with_settings(bits=8), "
            "and index again"
        )
    texts = TextStream(options.corpora, postings.documents()) if options.corpora else None
    vectors, first, without_text = postings.all_vectors(), dict[str, int](), 0
    written = [folder / MAPPING, folder / QUERY]
    while batch := list(islice(vectors, BULK_SIZE)):
        first = first or batch[0].impacts
        documents = texts.find([vector.docid for vector in batch]) if texts else {}
        without_text += len(batch) - len(documents)
        path = folder / f"bulk-{len(written) - 2:04d}.ndjson"
        with atomic_write(path) as stream:
            for line in _bulk_lines(batch, documents):
                stream.write(line.encode() + b"\n")
        written.append(path)
    if texts and without_text:
        logger.warning("%d documents have no text: they are not in the corpus", without_text)
    write_json(written[0], options.mapping)
    example = search_body(strongest_terms(first, weights), 10, field, texts is not None)
    write_json(written[1], example)
    return written


def _bulk_lines(vectors: list[ImpactVector], documents: Mapping[str, Document]) -> Iterator[str]:
    """Yield two lines of the bulk API for each document: the action and the source."""
    for docid, impacts in vectors:
        source: dict[str, Any] = {FIELD: {feature(term): x for term, x in impacts.items()}}
        if document := documents.get(docid):
            source |= {name: getattr(document, name) for name in TEXT_FIELDS}
        yield json.dumps({"index": {"_id": docid}})
        yield json.dumps(source, ensure_ascii=False)


def query(
    queries: WordPieces | QueryEncoder,
    text: str,
    k: int = 10,
    field: str = FIELD_TYPES[0],
    *,
    with_text: bool = False,
) -> dict[str, Any]:
    """Return the body of a ``_search`` request that scores documents by their inner products.

    ``queries`` is a query encoder or a tokenizer. A tokenizer gives a boolean query, in which each
    WordPiece has the weight 1. ``with_text`` requests the titles and texts of the hits, if they
    were exported.
    """
    (weights,) = as_queries(queries).encode([text])
    return search_body(weights, k, field, with_text)


def search_body(terms: Mapping[str, int], k: int, field: str, with_text: bool) -> dict[str, Any]:
    """Return the body of a ``_search`` request for terms with their weights; see `query`."""
    body: dict[str, Any] = {"match_none": {}}  # an empty bool query would match all documents
    if terms and field == "sparse_vector":
        vector = {feature(term): float(weight) for term, weight in terms.items()}
        body = {"sparse_vector": {"field": FIELD, "query_vector": vector}}
    elif terms:
        features = [
            {"rank_feature": {"field": f"{FIELD}.{feature(term)}", "linear": {}, **_boost(weight)}}
            for term, weight in terms.items()
        ]
        body = {"bool": {"should": features}}
    return {"size": k, "_source": list(TEXT_FIELDS) if with_text else False, "query": body}


def _boost(weight: int) -> dict[str, float]:
    """Return the boost of a query clause, as a dictionary; it is empty for a weight of 1."""
    return {} if weight == 1 else {"boost": float(weight)}


def feature(term: str) -> str:
    """Return the feature name of a term: each full stop becomes ``[full-stop]``."""
    return term.replace(".", FULL_STOP)
