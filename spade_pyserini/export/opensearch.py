"""Export to OpenSearch or Elasticsearch: a mapping, bulk files, and an example query.

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
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from spade_pyserini.errors import UsageError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.json_files import write_json
from spade_pyserini.formats.locks import lock
from spade_pyserini.formats.outputs import check_writable, refuse_existing
from spade_pyserini.formats.paths import remove, sibling
from spade_pyserini.formats.private_names import private_siblings
from spade_pyserini.formats.temporary import temporary_folder
from spade_pyserini.index.opening import open_postings
from spade_pyserini.index.postings import Postings
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.records import ImpactVector

FIELD_TYPES = ("rank_features", "sparse_vector")
FIELD = "impacts"
MAPPING, QUERY = "mapping.json", "query.json"
FULL_STOP = "[full-stop]"
LARGEST_EXACT = 511  # the largest integer up to which both field types are exact
BULK_SIZE = 5000  # documents per bulk file


def write_bulk(
    index: str | Path, output: str | Path, field: str = FIELD_TYPES[0], *, overwrite: bool = False
) -> list[Path]:
    """Write ``OUTPUT.mapping.json``, ``.query.json`` and ``.bulk-NNNN.ndjson``; return the paths.

    ``field`` is the type of the field, one of `FIELD_TYPES`. The example query has the two terms
    with the largest impacts of the first document. The files are written under temporary names and
    then renamed, the mapping last: if the mapping exists, all files do.
    """
    if field not in FIELD_TYPES:
        raise UsageError(f"field must be {' or '.join(FIELD_TYPES)}, not {field}")
    base = Path(output)
    check_writable(base)
    with lock(base), open_postings(index) as postings:
        old = _refuse_old(base, overwrite)
        with temporary_folder(base) as staging:
            written = _write(postings, staging, field)
            for path in old:  # there may be more old bulk files than new ones
                remove(path)
            for path in reversed(written):
                path.replace(sibling(base, path.name))
    return [sibling(base, path.name) for path in written]


def _refuse_old(base: Path, overwrite: bool) -> list[Path]:
    """Return the files of an earlier export, unless they may not be replaced.

    The mapping gets its name last: other files without it, with the folder of a killed process next
    to them, are what an interrupted export left, and the same call completes it.
    """
    old = [sibling(base, name) for name in (MAPPING, QUERY)]
    interrupted = not old[0].exists() and bool(private_siblings(base))
    old += sorted(base.parent.glob(f"{glob.escape(base.name)}.bulk-*.ndjson"))
    for path in old:
        refuse_existing(path, overwrite or interrupted)
    return old


def _write(postings: Postings, folder: Path, field: str) -> list[Path]:
    """Write all files to ``folder``, named by their suffixes; return them, the mapping first."""
    largest = max(postings.statistics(0).impacts, default=0)
    if largest > LARGEST_EXACT:
        message = f"the largest impact is {largest}, but {field} is exact to {LARGEST_EXACT} only"
        raise UsageError(f"{message}; encode with bits=8")
    vectors, first = postings.all_vectors(), dict[str, int]()
    written = [folder / MAPPING, folder / QUERY]
    while batch := list(islice(vectors, BULK_SIZE)):
        first = first or batch[0].impacts
        path = folder / f"bulk-{len(written) - 2:04d}.ndjson"
        with atomic_write(path) as stream:
            for line in _bulk_lines(batch):
                stream.write(line.encode() + b"\n")
        written.append(path)
    write_json(written[0], {"mappings": {"properties": {FIELD: {"type": field}}}})
    write_json(written[1], _search_body(sorted(first, key=first.__getitem__)[-2:], 10, field))
    return written


def _bulk_lines(vectors: list[ImpactVector]) -> Iterator[str]:
    """Yield two lines for each document: the action and the source."""
    for docid, impacts in vectors:
        features = {feature(term): impact for term, impact in impacts.items()}
        yield json.dumps({"index": {"_id": docid}})
        yield json.dumps({FIELD: features}, ensure_ascii=False)


def query(
    wordpieces: WordPieces, text: str, k: int = 10, field: str = FIELD_TYPES[0]
) -> dict[str, Any]:
    """Return the body of a ``_search`` whose score is the inner product with the boolean query."""
    return _search_body(wordpieces.query_terms(text), k, field)


def _search_body(terms: list[str], k: int, field: str) -> dict[str, Any]:
    body: dict[str, Any] = {"match_none": {}}  # an empty bool query would match all documents
    if terms and field == "sparse_vector":
        vector = {feature(term): 1.0 for term in terms}
        body = {"sparse_vector": {"field": FIELD, "query_vector": vector}}
    elif terms:
        features = [
            {"rank_feature": {"field": f"{FIELD}.{feature(term)}", "linear": {}}} for term in terms
        ]
        body = {"bool": {"should": features}}
    return {"size": k, "_source": False, "query": body}


def feature(term: str) -> str:
    """Return the feature name of a term: each full stop becomes ``[full-stop]``."""
    return term.replace(".", FULL_STOP)
