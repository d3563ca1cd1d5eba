"""OpenSearch and Elasticsearch: a mapping, a bulk file, and a query for boolean WordPieces.

    curl -XPUT  HOST/NAME        -H 'Content-Type: application/json'     --data-binary @NAME.mapping.json
    curl -XPOST HOST/NAME/_bulk  -H 'Content-Type: application/x-ndjson' --data-binary @NAME.bulk-0000.ndjson

``rank_features`` (both engines) keeps nine bits of a value, so impacts of 8 bits come back exactly.
``sparse_vector`` is Elasticsearch's. Neither takes a full stop in a name, it would be a path there:
`feature` writes it out.
"""  # noqa: E501

from __future__ import annotations

import glob
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from spade_pyserini.errors import UsageError
from spade_pyserini.files import atomic_write, refuse_existing, write_json
from spade_pyserini.index.postings import Postings
from spade_pyserini.records import ImpactVector
from spade_pyserini.wordpiece import WordPieces

KINDS = ("rank_features", "sparse_vector")
FIELD = "impacts"
FULL_STOP = "[full-stop]"
EXACT = 511  # the largest whole number that rank_features keeps exactly
BULK = 5000  # documents of a bulk file


def write_bulk(
    index: str | Path, output: str | Path, kind: str = KINDS[0], *, overwrite: bool = False
) -> list[Path]:
    """Write ``OUTPUT.mapping.json`` and ``OUTPUT.bulk-NNNN.ndjson``; returns all of them."""
    if kind not in KINDS:
        raise UsageError(f"the field is {' or '.join(KINDS)}, not {kind}")
    base = Path(output)
    written = [base.with_name(f"{base.name}.mapping.json")]
    old = sorted(base.parent.glob(f"{glob.escape(base.name)}.bulk-*.ndjson"))
    for path in (*written, *old):
        refuse_existing(path, overwrite)
    with Postings(index) as postings:
        largest = max(postings.figures(0).impacts, default=0)
        if kind == "rank_features" and largest > EXACT:
            message = f"an impact is {largest}, rank_features keeps whole numbers to {EXACT}"
            raise UsageError(f"{message}; take sparse_vector, or encode with 8 bits")
        for path in old:  # there may be fewer now
            path.unlink()
        write_json(written[0], {"mappings": {"properties": {FIELD: {"type": kind}}}})
        found = postings.all_vectors()
        while part := list(islice(found, BULK)):
            path = base.with_name(f"{base.name}.bulk-{len(written) - 1:04d}.ndjson")
            with atomic_write(path) as stream:
                for line in _lines(part):
                    stream.write(line.encode() + b"\n")
            written.append(path)
    return written


def _lines(vectors: list[ImpactVector]) -> Iterator[str]:
    for docid, impacts in vectors:
        named = {feature(term): impact for term, impact in impacts.items()}
        yield json.dumps({"index": {"_id": docid}})
        yield json.dumps({FIELD: named}, ensure_ascii=False)


def query(wordpieces: WordPieces, text: str, k: int = 10, kind: str = KINDS[0]) -> dict[str, Any]:
    """The body of a ``_search``: its score is the inner product with the boolean query."""
    terms = wordpieces.query_terms(text)
    if kind == "sparse_vector":
        vector = {feature(term): 1.0 for term in terms}
        wanted: dict[str, Any] = {"sparse_vector": {"field": FIELD, "query_vector": vector}}
    else:
        features = [
            {"rank_feature": {"field": f"{FIELD}.{feature(term)}", "linear": {}}} for term in terms
        ]
        wanted = {"bool": {"should": features}}
    return {"size": k, "_source": False, "query": wanted}


def feature(term: str) -> str:
    """The name of a term there: "..." is three times "[full-stop]"."""
    return term.replace(".", FULL_STOP)
