"""From a corpus and a model to a folder of impact vectors (`spade_pyserini.vectors`)."""

from spade_pyserini.encode.corpus import encode_corpus
from spade_pyserini.encode.part import Part, merge_parts

__all__ = ["Part", "encode_corpus", "merge_parts"]
