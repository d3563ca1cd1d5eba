"""Open corpora by name, or from files: CSV, TSV, JSON, Parquet, plain text.

::

    for document in open_corpus("pydoc"): ...
    for document in open_corpus("scifact/"): ...
    for document in open_corpus("products.csv", id_field="sku", text_fields=["info"]): ...
    for document in open_corpus("msmarco", path="collection.tsv.gz"): ...
    expanded(open_corpus("msmarco"), "predicted-queries.jsonl", 40)
    segmented(open_corpus("msmarco-doc"), Segmentation(250, 125))
"""

from spade_pyserini.corpora.catalogue import catalogue
from spade_pyserini.corpora.corpus import Corpus, open_corpus
from spade_pyserini.corpora.expansions import expanded
from spade_pyserini.corpora.pool import pooled
from spade_pyserini.corpora.segment import Segmentation, segmented
from spade_pyserini.corpora.transforms import apply_transforms

__all__ = [
    "Corpus",
    "Segmentation",
    "apply_transforms",
    "catalogue",
    "expanded",
    "open_corpus",
    "pooled",
    "segmented",
]
