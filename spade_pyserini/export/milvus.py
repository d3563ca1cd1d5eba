"""Milvus: the embedded one in a file, or a cluster by its address; through pymilvus, an extra."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spade_pyserini.errors import NotFoundError, OutputExistsError, SpadeError
from spade_pyserini.index.manifest import index_tokenizer
from spade_pyserini.index.postings import Postings
from spade_pyserini.records import Hit
from spade_pyserini.wordpiece import WordPieces

BATCH = 500  # documents of one insertion
LONGEST_ID = 512


def write_milvus(
    index: str | Path, uri: str, collection: str, *, token: str = "", overwrite: bool = False
) -> int:
    """Load an impact index into a collection; returns the number of documents.

    ``uri`` is a file (``x.db``: the embedded Milvus) or an address (``http://host:19530``).
    """
    client, kinds = _client(uri, token)
    wordpieces = index_tokenizer(Path(index))
    places = {term: place for place, term in enumerate(wordpieces.terms)}
    try:
        if client.has_collection(collection):
            if not overwrite:
                message = f"{uri} has a collection {collection!r} already"
                raise OutputExistsError(f"{message}; pass --overwrite to replace it")
            client.drop_collection(collection)
        schema = client.create_schema(auto_id=False)
        schema.add_field("id", kinds.VARCHAR, is_primary=True, max_length=LONGEST_ID)
        schema.add_field("impacts", kinds.SPARSE_FLOAT_VECTOR)
        built = client.prepare_index_params()
        built.add_index("impacts", index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
        client.create_collection(collection, schema=schema, index_params=built)
        with Postings(index) as postings:
            docids = postings.documents()
            for start in range(0, len(docids), BATCH):
                part = docids[start : start + BATCH]
                rows = [
                    {
                        "id": docid,
                        "impacts": {places[term]: float(x) for term, x in (found or {}).items()},
                    }
                    for docid, found in zip(part, postings.vectors(part), strict=True)
                ]
                client.insert(collection, rows)
        client.load_collection(collection)
    finally:
        client.close()
    return len(docids)


class MilvusSearcher:
    """Boolean WordPieces on a collection; close it after use."""

    def __init__(self, uri: str, collection: str, wordpieces: WordPieces, token: str = "") -> None:
        self._client, _ = _client(uri, token)
        self.collection, self.wordpieces = collection, wordpieces
        self._places = {term: place for place, term in enumerate(wordpieces.terms)}

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """The ``k`` best documents for ``query``; ties in Milvus's order."""
        terms = self.wordpieces.query_terms(query)
        if not terms:
            return []
        vector = {self._places[term]: 1.0 for term in terms}
        (found,) = self._client.search(
            self.collection, data=[vector], anns_field="impacts", limit=k, output_fields=["id"]
        )
        return [Hit(hit["id"], round(hit["distance"])) for hit in found]

    def close(self) -> None:
        self._client.close()


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
