"""Build Lucene indexes from vectors or text, verify them, and add or delete documents."""

from spade_pyserini.formats.index_manifest import IndexManifest
from spade_pyserini.index.bm25 import build_bm25_index
from spade_pyserini.index.build import build_foreign_index, build_impact_index
from spade_pyserini.index.options import IndexOptions
from spade_pyserini.index.update import add_documents, delete_documents
from spade_pyserini.index.verify import verify_index

__all__ = [
    "IndexManifest",
    "IndexOptions",
    "add_documents",
    "build_bm25_index",
    "build_foreign_index",
    "build_impact_index",
    "delete_documents",
    "verify_index",
]
