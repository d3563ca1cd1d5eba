"""Milvus: the embedded one in a file, or a cluster by its address; through pymilvus, an extra."""

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
from spade_pyserini.export.vocabulary import known_vectors
from spade_pyserini.formats.index_manifest import impact_manifest, index_tokenizer
from spade_pyserini.index.postings import Postings
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.records import Hit, ImpactVector

BATCH = 500  # documents of one insertion
LONGEST_ID = 512  # bytes
NAME = re.compile(r"[A-Za-z_]\w{0,200}", re.ASCII)  # of a collection


def write_milvus(
    index: str | Path,
    uri: str,
    collection: str,
    tokenizer: str | Path | None = None,
    *,
    token: str = "",
    overwrite: bool = False,
) -> int:
    """Load an impact index into a collection; returns the number of documents.

    ``uri`` is a file (``x.db``: the embedded Milvus) or an address (``http://host:19530``). It is
    loaded under another name, counted, and renamed: an old collection stays until then.
    ``tokenizer``: for an index that has none of its own.
    """
    if not NAME.fullmatch(collection):
        message = f"Milvus has no collection {collection!r}: letters, digits and _, no digit first"
        raise UsageError(f"{message}; choose another --collection")
    impact_manifest(Path(index))
    wordpieces = index_tokenizer(Path(index), tokenizer)
    with Postings(index) as postings:
        docids = postings.documents()
        if long := [docid for docid in docids if len(docid.encode()) > LONGEST_ID]:
            message = f"{index}: the id {long[0][:40]!r}... is longer than {LONGEST_ID} bytes"
            raise ArtifactError(f"{message}, Milvus's limit; encode with shorter ids")
        client, kinds = _client(uri, token)
        with closing(client), _told(uri):
            _restore(client, collection)
            if client.has_collection(collection) and not overwrite:
                message = f"{uri} has a collection {collection!r} already"
                raise OutputExistsError(f"{message}; pass --overwrite to replace it")
            unfinished = f"{collection}_building"
            try:
                _create(client, kinds, unfinished)
                _load(client, unfinished, known_vectors(postings, wordpieces), wordpieces)
                _count(client, unfinished, len(docids))
                _put_in_place(client, unfinished, collection)
                client.load_collection(collection)
            finally:
                _drop(client, unfinished)
    return len(docids)


def _drop(client: Any, collection: str) -> None:
    if client.has_collection(collection):
        client.drop_collection(collection)


def _put_in_place(client: Any, made: str, collection: str) -> None:
    """The old collection has another name until the new one has its own."""
    if client.has_collection(collection):
        client.rename_collection(collection, _before(collection))
    try:
        client.rename_collection(made, collection)
    finally:
        _restore(client, collection)


def _restore(client: Any, collection: str) -> None:
    """The old collection gets its name back where the new one has not got it."""
    if client.has_collection(collection):
        _drop(client, _before(collection))
    elif client.has_collection(_before(collection)):
        client.rename_collection(_before(collection), collection)


def _before(collection: str) -> str:
    return f"{collection}_being_replaced"


def _create(client: Any, kinds: Any, collection: str) -> None:
    _drop(client, collection)
    schema = client.create_schema(auto_id=False)
    schema.add_field("id", kinds.VARCHAR, is_primary=True, max_length=LONGEST_ID)
    schema.add_field("impacts", kinds.SPARSE_FLOAT_VECTOR)
    built = client.prepare_index_params()
    built.add_index("impacts", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
    client.create_collection(collection, schema=schema, index_params=built)


def _load(
    client: Any, collection: str, found: Iterator[ImpactVector], wordpieces: WordPieces
) -> None:
    places = wordpieces.term_ids
    while part := list(islice(found, BATCH)):
        rows = [
            {"id": docid, "impacts": {places[term]: float(x) for term, x in impacts.items()}}
            for docid, impacts in part
        ]
        client.insert(collection, rows)
    client.load_collection(collection)


def _count(client: Any, collection: str, wanted: int) -> None:
    client.flush(collection)
    found = client.get_collection_stats(collection)["row_count"]
    if found != wanted:
        raise SpadeError(f"Milvus has {found} of {wanted} documents; run the command again")


class MilvusSearcher:
    """Boolean WordPieces on a collection; close it after use."""

    def __init__(self, uri: str, collection: str, wordpieces: WordPieces, token: str = "") -> None:
        self._client, _ = _client(uri, token)
        self.uri, self.collection, self.wordpieces = uri, collection, wordpieces

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """The ``k`` best documents for ``query``; ties in Milvus's order."""
        vector = dict.fromkeys(self.wordpieces.query_ids(query), 1.0)
        if not vector:
            return []
        with _told(self.uri):
            (found,) = self._client.search(
                self.collection, data=[vector], anns_field="impacts", limit=k, output_fields=["id"]
            )
        return [Hit(hit["id"], round(hit["distance"])) for hit in found]

    def close(self) -> None:
        self._client.close()


@contextmanager
def _told(uri: str) -> Iterator[None]:
    """What Milvus refuses in the block as an error of ours, and not in logs of theirs as well."""
    from pymilvus.exceptions import MilvusException

    logs = [logging.getLogger(name) for name in ("pymilvus", "grpc")]
    levels = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.CRITICAL)
    try:
        yield
    except MilvusException as error:
        raise SpadeError(f"Milvus at {uri!r} refused: {error.message}") from None
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.setLevel(level)


def _client(uri: str, token: str) -> tuple[Any, Any]:
    try:
        from pymilvus import DataType, MilvusClient
    except ModuleNotFoundError:
        message = "Milvus needs pymilvus: pip install 'spade_pyserini[milvus]'"
        raise NotFoundError(message) from None
    try:
        return MilvusClient(uri, token=token), DataType
    except Exception as error:  # pymilvus's own errors
        raise SpadeError(f"no Milvus at {uri!r}: {error}") from None
