"""Encode a corpus with a model into a folder of impact vectors (`formats.vectors`)."""

from typing import TYPE_CHECKING

from spade_pyserini._lazy import lazy

if TYPE_CHECKING:
    from spade_pyserini.encode.corpus import encode_corpus
    from spade_pyserini.encode.estimate import Estimate, estimate_encoding
    from spade_pyserini.encode.merge import merge_parts
    from spade_pyserini.encode.options import EncodeOptions
    from spade_pyserini.sharding.part import Part

__all__ = [
    "EncodeOptions",
    "Estimate",
    "Part",
    "encode_corpus",
    "estimate_encoding",
    "merge_parts",
]
__getattr__ = lazy(
    __name__,
    {
        "corpus": ["encode_corpus"],
        "estimate": ["Estimate", "estimate_encoding"],
        "merge": ["merge_parts"],
        "options": ["EncodeOptions", "Part"],
    },
)
