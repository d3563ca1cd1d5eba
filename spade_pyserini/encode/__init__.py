"""From a corpus and a model to a folder of impact vectors (`spade_pyserini.vectors`)."""

from spade_pyserini.encode.corpus import encode_corpus

__all__ = ["encode_corpus"]
