"""Export to Milvus through pymilvus, to a local database file or a server.

pymilvus is an optional dependency: ``pip install 'spade_pyserini[milvus]'``.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from spade_pyserini.errors import (
    ArtifactError,
    NotFoundError,
    OutputExistsError,
    SpadeError,
    UsageError,
)
from spade_pyserini.export.vocabulary import vectors_in_vocabulary
from spade_pyserini.formats.query_side import WORDS
from spade_pyserini.index.opening import index_tokenizer, locate, open_postings
from spade_pyserini.models.queries import QueryEncoder, as_queries
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.records import Hit, ImpactVector

BATCH = 500  # documents per insertion
LONGEST_ID = 512  # maximum length of a document id, in bytes
COLLECTION_NAME = re.compile(r"[A-Za-z_]\w{0,200}", re.ASCII)


def write_milvus(
    index: str | Path,
    uri: str,
    collection: str,
    tokenizer: str | Path | None = None,
    *,
    token: str = "",
    overwrite: bool = False,
) -> int:
    """Load an impact index into a Milvus collection; return the number of documents.

    ``uri`` is a file (``x.db``, for the embedded Milvus) or an address (``http://host:19530``), and
    ``token`` has the credentials. The documents are loaded into a temporary collection. If this
    collection has the expected number of documents, it is renamed to ``collection``; only then is
    an existing collection dropped. ``tokenizer`` is necessary only if the index was built without
    one.
    """
    if not COLLECTION_NAME.fullmatch(collection):
        message = f"{collection!r} is not a valid name of a Milvus collection"
        rule = "use letters, digits and _, and do not begin with a digit"
        raise UsageError(f"{message}; choose another collection: {rule}")
    wordpieces = index_tokenizer(Path(index), tokenizer)
    if locate(Path(index), foreign=True).manifest.query.kind == WORDS:
        message = f"{index}: its terms are words, but Milvus needs the ids of WordPieces"
        raise UsageError(f"{message}; export the index to PISA, BMP, OpenSearch or CIFF")
    with open_postings(index) as postings:
        docids = postings.documents()
        if long := [docid for docid in docids if len(docid.encode()) > LONGEST_ID]:
            message = f"{index}: the id {long[0][:40]!r}... is longer than {LONGEST_ID} bytes"
            raise ArtifactError(f"{message}, Milvus's limit; encode the corpus with shorter ids")
        client, data_type = _connect(uri, token)
        with closing(client), translate_milvus_errors(uri):
            _restore(client, collection)
            if client.has_collection(collection) and not overwrite:
                message = f"{uri} has a collection {collection!r} already"
                raise OutputExistsError(f"{message}; pass overwrite=True to replace it")
            staging = f"{collection}_building"
            try:
                _create(client, data_type, staging)
                vectors = vectors_in_vocabulary(postings, wordpieces)
                _insert(client, staging, vectors, wordpieces)
                _check_count(client, staging, len(docids))
                _swap_in(client, staging, collection)
                client.load_collection(collection)
            finally:
                _drop(client, staging)
    return len(docids)


def _drop(client: Any, collection: str) -> None:
    if client.has_collection(collection):
        client.drop_collection(collection)


def _swap_in(client: Any, staging: str, collection: str) -> None:
    """Rename ``staging`` to ``collection``; drop the old collection only after that."""
    if client.has_collection(collection):
        client.rename_collection(collection, _previous(collection))
    try:
        client.rename_collection(staging, collection)
    finally:
        _restore(client, collection)


def _restore(client: Any, collection: str) -> None:
    """Drop the old collection if the new one has replaced it; otherwise restore the old one."""
    if client.has_collection(collection):
        _drop(client, _previous(collection))
    elif client.has_collection(_previous(collection)):
        client.rename_collection(_previous(collection), collection)


def _previous(collection: str) -> str:
    """Return the name that the old collection has while it is being replaced."""
    return f"{collection}_being_replaced"


def _create(client: Any, data_type: Any, collection: str) -> None:
    """Create an empty collection with an inverted index for inner products."""
    _drop(client, collection)
    schema = client.create_schema(auto_id=False)
    schema.add_field("id", data_type.VARCHAR, is_primary=True, max_length=LONGEST_ID)
    schema.add_field("impacts", data_type.SPARSE_FLOAT_VECTOR)
    parameters = client.prepare_index_params()
    parameters.add_index("impacts", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
    client.create_collection(collection, schema=schema, index_params=parameters)


def _insert(
    client: Any, collection: str, vectors: Iterator[ImpactVector], wordpieces: WordPieces
) -> None:
    """Insert all vectors, in batches; the dimensions are WordPiece ids."""
    ids = wordpieces.term_ids
    while batch := list(islice(vectors, BATCH)):
        rows = [
            {"id": docid, "impacts": {ids[term]: float(value) for term, value in impacts.items()}}
            for docid, impacts in batch
        ]
        client.insert(collection, rows)
    client.load_collection(collection)


def _check_count(client: Any, collection: str, expected: int) -> None:
    client.flush(collection)
    count = client.get_collection_stats(collection)["row_count"]
    if count != expected:
        raise SpadeError(f"Milvus has {count} of {expected} documents; run the export again")


class MilvusSearcher:
    """Searches a Milvus collection with the WordPieces of a query; close the searcher after use.

    ``queries`` is a query encoder or a tokenizer. A tokenizer gives boolean queries, in which each
    WordPiece has the weight 1.
    """

    def __init__(
        self, uri: str, collection: str, queries: WordPieces | QueryEncoder, token: str = ""
    ) -> None:
        self._client, _ = _connect(uri, token)
        self.uri, self.collection, self.queries = uri, collection, as_queries(queries)
        with translate_milvus_errors(uri):
            self._client.load_collection(collection)  # Milvus searches only loaded collections

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """Return the ``k`` best documents for ``query``; Milvus decides the order of ties."""
        (weights,) = self.queries.encode([query])
        ids = self.queries.wordpieces.term_ids
        vector = {ids[term]: float(weight) for term, weight in weights.items()}
        if not vector:
            return []
        with translate_milvus_errors(self.uri):
            (results,) = self._client.search(
                self.collection, data=[vector], anns_field="impacts", limit=k, output_fields=["id"]
            )
        return [Hit(hit["id"], round(hit["distance"])) for hit in results]

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


@contextmanager
def translate_milvus_errors(uri: str) -> Iterator[None]:
    """Raise a `SpadeError` for an error of Milvus in the block, and stop pymilvus's own logging."""
    from pymilvus.exceptions import MilvusException

    loggers = [logging.getLogger(name) for name in ("pymilvus", "grpc")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    except MilvusException as error:
        raise SpadeError(f"Milvus at {uri!r} reported an error: {error.message}") from None
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _connect(uri: str, token: str) -> tuple[Any, Any]:
    """Return a client and pymilvus's ``DataType``.

    Raises `NotFoundError` if pymilvus is not installed.
    """
    try:
        from pymilvus import DataType, MilvusClient
    except ModuleNotFoundError:
        message = "Milvus needs pymilvus: pip install 'spade_pyserini[milvus]'"
        raise NotFoundError(message) from None
    try:
        return MilvusClient(uri, token=token), DataType
    except Exception as error:  # pymilvus raises exceptions of several types
        raise SpadeError(
            f"cannot open Milvus at {uri!r}: {error}; check the file, or the server and its address"
        ) from None
