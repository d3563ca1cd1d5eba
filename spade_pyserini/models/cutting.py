"""Cut long texts before they are tokenized, without changing their first WordPieces.

A tokenizer splits the complete text before it truncates the result: a document of 50 MB takes
gigabytes and minutes to give 64 WordPieces. BERT's tokenizer treats the text before whitespace
independently of the text after it, so the first WordPieces of a text are those of a prefix that
ends before whitespace. Two more rules bound what a hostile text costs: several whitespace
characters are like one, and a word of more letters and digits than the vocabulary's limit is
unknown, however long it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

FIRST = 16  # characters per WordPiece in the first attempt
GROWTH = 8  # factor of the length from one attempt to the next
BLANK = re.compile(r"[ \t\n\r]")
BLANKS = re.compile(r"[ \t\n\r]{2,}")
NORMALIZERS = (None, "BertNormalizer", "Lowercase", "NFD", "StripAccents")


def can_cut(definition: dict[str, Any]) -> bool:
    """Return whether a tokenizer, given as its parsed file, treats whitespace as BERT does."""
    normalizer, splitter = definition.get("normalizer"), definition.get("pre_tokenizer")
    return (
        (normalizer or {}).get("type") in NORMALIZERS
        and (splitter or {}).get("type") == "BertPreTokenizer"
        and not any(BLANK.search(token["content"]) for token in definition["added_tokens"])
    )


def prefixes(text: str, max_length: int, longest_word: int) -> Iterator[str]:
    """Yield longer and longer prefixes of a text, and the complete text last.

    A prefix that gives ``max_length`` WordPieces gives the first ones of the complete text. In long
    texts, repeated whitespace and words above the limit are shortened, see above.
    ``longest_word`` is the number of characters above which a word is unknown.
    """
    word = re.compile(rf"([0-9A-Za-z]{{{longest_word + 1}}})[0-9A-Za-z]+")
    length = FIRST * max_length
    while length < len(text):
        cut = BLANK.search(text, length)
        if cut is None:
            break
        yield BLANKS.sub(" ", word.sub(r"\1", text[: cut.start()]))
        length = GROWTH * cut.start()
    yield BLANKS.sub(" ", word.sub(r"\1", text)) if len(text) > FIRST * max_length else text


def slices(text: str, size: int) -> Iterator[str]:
    """Yield consecutive parts of a text of ``size`` characters or a little more.

    They end before whitespace, so their WordPieces together are those of the text.
    """
    start = 0
    while start < len(text):
        cut = BLANK.search(text, start + size)
        end = len(text) if cut is None else cut.start()
        yield text[start:end]
        start = end
