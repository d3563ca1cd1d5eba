"""Lucene indexes: built by Lucene itself or by Anserini, checked afterwards, and changed."""

from spade_pyserini.formats.index_manifest import IndexManifest
from spade_pyserini.index.build import build_bm25_index, build_foreign_index, build_impact_index
from spade_pyserini.index.update import add_documents, delete_documents
from spade_pyserini.index.verify import verify_index

__all__ = [
    "IndexManifest",
    "add_documents",
    "build_bm25_index",
    "build_foreign_index",
    "build_impact_index",
    "delete_documents",
    "verify_index",
]
