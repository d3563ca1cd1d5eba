"""From a corpus and a model to a folder of impact vectors (`spade_pyserini.formats.vectors`)."""

from typing import TYPE_CHECKING

from spade_pyserini._lazy import lazy

if TYPE_CHECKING:
    from spade_pyserini.encode.corpus import encode_corpus
    from spade_pyserini.encode.merge import merge_parts
    from spade_pyserini.encode.options import EncodeOptions
    from spade_pyserini.sharding.part import Part

__all__ = ["EncodeOptions", "Part", "encode_corpus", "merge_parts"]
__getattr__ = lazy(
    __name__,
    {
        "corpus": ["encode_corpus"],
        "merge": ["merge_parts"],
        "options": ["EncodeOptions", "Part"],
    },
)
