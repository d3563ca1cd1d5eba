"""Corpora: by name, or any folder or file in BEIR, MS MARCO or Pyserini form.

::

    for document in open_corpus("pydoc"): ...
    for document in open_corpus("scifact/"): ...
    for document in open_corpus("msmarco", path="collection.tsv.gz"): ...
"""

from spade_pyserini.corpora.catalogue import Corpus, open_corpus

__all__ = ["Corpus", "open_corpus"]
