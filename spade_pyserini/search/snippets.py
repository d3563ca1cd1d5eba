"""A snippet is the part of a text with the most important words of a query, which are marked."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from spade_pyserini.formats.unicode import printable

WIDTH = 240  # largest number of characters of a snippet, without the ellipses
CONTEXT = 1 / 6  # share of a snippet before its first matched word
WORD = re.compile(r"\w+")
ELLIPSIS = "..."

MatchedTermsOfWord = Callable[[str], frozenset[str]]
"""A function that returns those terms of a word that match the query; the set may be empty."""


class Snippet(NamedTuple):
    """A piece of printable text on one line; ``marks`` are the spans of matched words."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()

    def marked(self, begin: str, end: str) -> str:
        """Return the text with ``begin`` and ``end`` around each mark."""
        pieces, last = [], 0
        for start, stop in self.marks:
            pieces += [self.text[last:start], begin, self.text[start:stop], end]
            last = stop
        return "".join([*pieces, self.text[last:]])


class _Match(NamedTuple):
    start: int
    end: int
    terms: frozenset[str]


def mark_words(text: str, matched: MatchedTermsOfWord) -> Snippet:
    """Return the complete text, with marks at the matched words."""
    clean = printable(text)
    return Snippet(clean, tuple((match.start, match.end) for match in _matches(clean, matched)))


def best_snippet(
    text: str, matched: MatchedTermsOfWord, weights: Mapping[str, float], width: int = WIDTH
) -> Snippet:
    """Return the part of the text, with at most ``width`` characters, that has the largest weight.

    The weight of a part is the sum of the weights of its matched terms; each term counts once. If
    several parts have the same weight, the first part is returned. If no word matches, the
    beginning of the text is returned.
    """
    clean = printable(text)
    matches = _matches(clean, matched)
    start, end = _window(clean, _best_start(matches, weights, width), width)
    before = f"{ELLIPSIS} " if start else ""
    after = f" {ELLIPSIS}" if end < len(clean) else ""
    shift = len(before) - start
    marks = [
        (match.start + shift, match.end + shift)
        for match in matches
        if start <= match.start and match.end <= end
    ]
    return Snippet(f"{before}{clean[start:end]}{after}", tuple(marks))


def _matches(text: str, matched: MatchedTermsOfWord) -> list[_Match]:
    words = ((word, matched(word.group())) for word in WORD.finditer(text))
    return [_Match(word.start(), word.end(), terms) for word, terms in words if terms]


def _best_start(matches: list[_Match], weights: Mapping[str, float], width: int) -> int:
    """Return the position of the first matched word of the best part; 0 without matches."""
    best, position = 0.0, 0
    for number, first in enumerate(matches):
        terms: set[str] = set()
        for match in matches[number:]:
            if match.end > first.start + width - int(CONTEXT * width):
                break
            terms |= match.terms
        score = sum(weights.get(term, 0.0) for term in terms)
        if score > best:
            best, position = score, first.start
    return position


def _window(text: str, position: int, width: int) -> tuple[int, int]:
    """Return the start and the end of a part around ``position``, if possible between words."""
    if len(text) <= width:
        return 0, len(text)
    start = max(0, min(position - int(CONTEXT * width), len(text) - width))
    if start:
        space = text.find(" ", start, position)
        start = space + 1 if space >= 0 else start
    end = min(len(text), start + width)
    if end < len(text):
        space = text.rfind(" ", position, end)
        end = space if space > start else end
    return start, end
