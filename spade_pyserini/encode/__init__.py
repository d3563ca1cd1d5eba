"""From a corpus and a model to a folder of impact vectors (`spade_pyserini.vectors`)."""

from typing import TYPE_CHECKING

from spade_pyserini._lazy import lazy

if TYPE_CHECKING:
    from spade_pyserini.encode.corpus import encode_corpus
    from spade_pyserini.sharding.part import Part, merge_parts

__all__ = ["Part", "encode_corpus", "merge_parts"]
__getattr__ = lazy(__name__, {"corpus": ["encode_corpus"]})
