"""OpenSearch and Elasticsearch: a mapping, bulk files, and a query for boolean WordPieces.

    curl -XPUT  HOST/NAME         -H 'Content-Type: application/json'     --data-binary @NAME.mapping.json
    curl -XPOST HOST/NAME/_bulk   -H 'Content-Type: application/x-ndjson' --data-binary @NAME.bulk-0000.ndjson
    curl -XPOST HOST/NAME/_search -H 'Content-Type: application/json'     --data-binary @NAME.query.json

``rank_features`` (both engines) and ``sparse_vector`` (Elasticsearch's) keep nine bits of a value, so
impacts of 8 bits come back exactly. Neither takes a full stop in a name, it would be a path there:
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
from spade_pyserini.formats.files import atomic_write, refuse_existing, remove, sibling, write_json
from spade_pyserini.formats.index_manifest import impact_manifest
from spade_pyserini.index.postings import Postings
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.records import ImpactVector

KINDS = ("rank_features", "sparse_vector")
FIELD = "impacts"
MAPPING, QUERY = "mapping.json", "query.json"
FULL_STOP = "[full-stop]"
EXACT = 511  # the largest whole number that both keep exactly
BULK = 5000  # documents of a bulk file


def write_bulk(
    index: str | Path, output: str | Path, kind: str = KINDS[0], *, overwrite: bool = False
) -> list[Path]:
    """Write ``OUTPUT.mapping.json``, ``.query.json`` and ``.bulk-NNNN.ndjson``; returns them all.

    The query is an example: the two terms that weigh most in the first document. The files get
    their names when all are written, the mapping last: where it is, the rest is.
    """
    if kind not in KINDS:
        raise UsageError(f"the field is {' or '.join(KINDS)}, not {kind}")
    impact_manifest(Path(index))
    base = Path(output)
    old = [sibling(base, name) for name in (MAPPING, QUERY)]
    old += sorted(base.parent.glob(f"{glob.escape(base.name)}.bulk-*.ndjson"))
    for path in old:
        refuse_existing(path, overwrite)
    unfinished = sibling(base, "building")
    remove(unfinished)
    try:
        with Postings(index) as postings:
            made = _write(postings, unfinished, kind)
        for path in old:  # there may be fewer now
            remove(path)
        for path in reversed(made):
            path.replace(sibling(base, path.name))
    finally:
        remove(unfinished)
    return [sibling(base, path.name) for path in made]


def _write(postings: Postings, folder: Path, kind: str) -> list[Path]:
    """All files by the last part of their names, the mapping first."""
    largest = max(postings.figures(0).impacts, default=0)
    if largest > EXACT:
        message = f"an impact is {largest}, {kind} keeps whole numbers to {EXACT}"
        raise UsageError(f"{message}; encode with 8 bits")
    found, first = postings.all_vectors(), dict[str, int]()
    made = [folder / MAPPING, folder / QUERY]
    while part := list(islice(found, BULK)):
        first = first or part[0].impacts
        path = folder / f"bulk-{len(made) - 2:04d}.ndjson"
        with atomic_write(path) as stream:
            for line in _lines(part):
                stream.write(line.encode() + b"\n")
        made.append(path)
    write_json(made[0], {"mappings": {"properties": {FIELD: {"type": kind}}}})
    write_json(made[1], _body(sorted(first, key=first.__getitem__)[-2:], 10, kind))
    return made


def _lines(vectors: list[ImpactVector]) -> Iterator[str]:
    for docid, impacts in vectors:
        named = {feature(term): impact for term, impact in impacts.items()}
        yield json.dumps({"index": {"_id": docid}})
        yield json.dumps({FIELD: named}, ensure_ascii=False)


def query(wordpieces: WordPieces, text: str, k: int = 10, kind: str = KINDS[0]) -> dict[str, Any]:
    """The body of a ``_search``: its score is the inner product with the boolean query."""
    return _body(wordpieces.query_terms(text), k, kind)


def _body(terms: list[str], k: int, kind: str) -> dict[str, Any]:
    wanted: dict[str, Any] = {"match_none": {}}  # an empty query of theirs finds everything
    if terms and kind == "sparse_vector":
        vector = {feature(term): 1.0 for term in terms}
        wanted = {"sparse_vector": {"field": FIELD, "query_vector": vector}}
    elif terms:
        features = [
            {"rank_feature": {"field": f"{FIELD}.{feature(term)}", "linear": {}}} for term in terms
        ]
        wanted = {"bool": {"should": features}}
    return {"size": k, "_source": False, "query": wanted}


def feature(term: str) -> str:
    """The name of a term there: "..." is three times "[full-stop]"."""
    return term.replace(".", FULL_STOP)
