"""Cut long texts before they are tokenized, without changing their first WordPieces.

A tokenizer splits the complete text before it truncates the result: a document of 50 MB takes
gigabytes and minutes to give 64 WordPieces. BERT's tokenizer treats the text before whitespace
independently of the text after it, so a prefix that ends before whitespace has the same first
WordPieces as the complete text. A prefix can also end before most punctuation and before Chinese
characters. Two more rules limit the cost of a hostile text without changing its WordPieces:
repeated whitespace is replaced by one space, and a word with more letters and digits than the
tokenizer's limit is shortened. Such a word becomes the unknown token at any length above the limit.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from typing import Any, NamedTuple

FIRST = 16  # length of the first prefix, in characters per requested WordPiece
GROWTH = 8  # each prefix is longer than the previous one by this factor
BLANK = r"[ \t\n\r]"
BLANKS = re.compile(rf"{BLANK}{{2,}}")
NORMALIZERS = (None, "BertNormalizer", "Lowercase", "NFD", "StripAccents")
PUNCTUATION = "\u3001\u3002\uff01\uff0c\uff0e\uff1a\uff1b\uff1f\u300c\u300d\uff08\uff09"
# Some of the characters that BertNormalizer puts between spaces.
CHINESE = r"[\u3400-\u4dbf\u4e00-\u9fa5]"
# Letters and digits of common scripts; no normalizer in `NORMALIZERS` removes any of them.
LETTER = (
    r"[0-9A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017f\u03b1-\u03c9\u0410-\u044f\u05d0-\u05ea"
    r"\u0621-\u063a\u0641-\u064a\u3041-\u3096\u30a1-\u30fa\uac00-\ud7a3]"
)


class Cutter(NamedTuple):
    """Cuts and shortens texts for a tokenizer.

    place: a pattern of the characters before which a text may be cut. word: a pattern of the words
    above the tokenizer's length limit; the group of the pattern is the part of the word to keep.
    word is None if words must not be shortened.
    """

    place: re.Pattern[str]
    word: re.Pattern[str] | None

    def prefixes(self, text: str, max_length: int) -> Iterator[str]:
        """Yield longer and longer prefixes of a text, and the complete text last.

        If a prefix has ``max_length`` WordPieces, these are the first WordPieces of the complete
        text. In long texts, repeated whitespace and words above the tokenizer's length limit are
        shortened.
        """
        length = FIRST * max_length
        if len(text) <= length:
            yield text
            return
        while length < len(text) and (cut := self.place.search(text, length)) is not None:
            yield self._shortened(text[: cut.start()])
            length = GROWTH * cut.start()
        yield self._shortened(text)

    def parts(self, text: str, size: int) -> Iterator[str]:
        """Yield consecutive parts of a text, each with at least ``size`` characters.

        A part ends where the text may first be cut after ``size`` characters, so only the last
        part can be shorter. The parts together have the same WordPieces as the text.
        """
        start = 0
        while start < len(text):
            cut = self.place.search(text, start + size)
            end = len(text) if cut is None else cut.start()
            yield text[start:end]
            start = end

    def slices(self, text: str, size: int) -> Iterator[str]:
        """Yield the parts of a text, see `parts`, shortened.

        Repeated whitespace and words above the tokenizer's length limit may be shortened.
        """
        for part in self.parts(text, size):
            yield self._shortened(part) if len(part) > size else part

    def _shortened(self, text: str) -> str:
        return BLANKS.sub(" ", self.word.sub(r"\1", text) if self.word else text)


def cutter_of(definition: dict[str, Any]) -> Cutter | None:
    """Return the cutter for a tokenizer; ``definition`` is the parsed ``tokenizer.json``.

    Returns None if the tokenizer may treat whitespace differently from BERT's tokenizer.
    """
    normalizer, splitter = definition.get("normalizer") or {}, definition.get("pre_tokenizer") or {}
    added = definition["added_tokens"]
    tokens = [token["content"] for token in added]
    if (
        normalizer.get("type") not in NORMALIZERS
        or splitter.get("type") != "BertPreTokenizer"
        or any(re.search(BLANK, token) for token in tokens)
    ):
        return None
    places = [BLANK]
    if all(token.isascii() for token in tokens):
        places += _punctuation(tokens)
        alone = not any(token.get("single_word") for token in added)
        if normalizer.get("handle_chinese_chars") and alone:
            places.append(CHINESE)
    longest = definition["model"].get("max_input_chars_per_word", 100)
    word = rf"({LETTER}{{{longest + 1}}}){LETTER}+"
    # A special token that starts or ends with a letter could be part of a long word.
    inside = any(re.match(r"\w", token) or re.search(r"\w\Z", token) for token in tokens)
    return Cutter(re.compile("|".join(places)), None if inside else re.compile(word))


def _punctuation(tokens: list[str]) -> Iterator[str]:
    """Yield patterns of punctuation; a cut before one of them cannot split a special token."""
    inside = "".join(tokens)
    free = [mark for mark in string.punctuation if mark not in inside and mark != "_"]
    yield f"[{re.escape(''.join(free) + PUNCTUATION)}]"
    for mark in sorted(set(string.punctuation) - set(free) - {"_"}):
        if mark * 2 not in inside:
            yield f"(?<={re.escape(mark)}){re.escape(mark)}"
