"""Write topics as queries in the formats of other engines.

==============  ============================================================================
``opensearch``  the body of ``_msearch``: for each topic the line ``{}``, then a line with the query
``pisa``        PyTerrier's columns: ``{"qid": "7", "query": "", "query_toks": {"cat": 1}}``
``milvus``      ``{"qid": "7", "vector": {"4937": 1.0}}``; the dimensions are WordPiece ids
==============  ============================================================================
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spade_pyserini.errors import UsageError
from spade_pyserini.export.opensearch import FIELD_TYPES, search_body
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.outputs import refuse_existing
from spade_pyserini.formats.query_side import BOOLEAN, read_side
from spade_pyserini.index.queries import MakeQueries
from spade_pyserini.models.queries import (
    QueryEncoder,
    as_queries,
    check_queries,
    check_vocabulary,
    open_queries,
)
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.records import Topic

logger = logging.getLogger(__name__)
ENGINES = ("opensearch", "pisa", "milvus")


@dataclass(frozen=True)
class QueryOptions:
    """How to write queries.

    engine: one of `ENGINES`.
    field, hits, with_text: for OpenSearch, the type of the field with the impacts, the number of
        hits, and whether hits contain titles and texts.
    """

    engine: str
    field: str = FIELD_TYPES[0]
    hits: int = 10
    with_text: bool = False

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise UsageError(f"engine must be one of {', '.join(ENGINES)}, not {self.engine}")


def read_queries(
    tokenizer: str | Path, side: str | Path | None = None, queries: MakeQueries | None = None
) -> QueryEncoder:
    """Read the files next to an export, and return the query encoder that they describe.

    ``tokenizer`` is the file ``X.tokenizer.json`` next to the export, and ``side`` is the file
    ``X.queries.json``. Without ``side``, queries are boolean. If a neural model must encode the
    queries, ``queries`` must be a function that takes the tokenizer and returns the query encoder.
    """
    wordpieces = WordPieces.load(tokenizer)
    described, weights = read_side(Path(side)) if side else (BOOLEAN, {})
    if queries is None:
        return open_queries(described, wordpieces, weights, side)
    encoder = queries(wordpieces)
    check_vocabulary(encoder, wordpieces, tokenizer)
    check_queries(described, encoder, side or tokenizer)
    return encoder


def write_queries(
    topics: list[Topic],
    queries: WordPieces | QueryEncoder,
    output: str | Path,
    options: QueryOptions,
    *,
    overwrite: bool = False,
) -> int:
    """Write the queries of all topics, in their order; return how many were written.

    ``queries`` is a query encoder or a tokenizer. A tokenizer gives boolean queries, in which each
    WordPiece has the weight 1. A topic without any term has no hits. For OpenSearch, it becomes a
    query that matches nothing, because responses are identified by their order. For PISA and
    Milvus, which refuse empty queries, it is left out. A warning lists the first of these topics.
    """
    path = Path(output)
    refuse_existing(path, overwrite)
    encoder = as_queries(queries)
    encoded = encoder.encode([topic.text for topic in topics])
    empty = [topic.qid for topic, terms in zip(topics, encoded, strict=True) if not terms]
    if empty:
        message = "%d topics have no terms and therefore no hits: %s"
        logger.warning(message, len(empty), ", ".join(empty[:5]))
    written = 0
    with atomic_write(path) as stream:
        for topic, terms in zip(topics, encoded, strict=True):
            if terms or options.engine == "opensearch":
                written += 1
                for line in _lines(topic.qid, terms, encoder.wordpieces, options):
                    stream.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
    return written


def _lines(
    qid: str, terms: dict[str, int], wordpieces: WordPieces, options: QueryOptions
) -> Iterator[dict[str, Any]]:
    if options.engine == "opensearch":
        yield {}
        yield search_body(terms, options.hits, options.field, options.with_text)
    elif options.engine == "pisa":
        yield {"qid": qid, "query": "", "query_toks": terms}
    else:
        ids = wordpieces.term_ids
        yield {"qid": qid, "vector": {str(ids[term]): float(x) for term, x in terms.items()}}
