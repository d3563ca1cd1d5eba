"""Explanations: which terms of a document match a query, and which terms the model added."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from spade_pyserini.formats.tables import render
from spade_pyserini.models.queries import as_queries
from spade_pyserini.models.wordpieces import without_punctuation

if TYPE_CHECKING:
    from spade_pyserini.models.explanation import TermWeight
    from spade_pyserini.models.protocols import DocumentEncoder
    from spade_pyserini.models.queries import QueryEncoder
    from spade_pyserini.models.wordpieces import WordPieces

# maximum number of added terms to show; the maximum number of raised terms is the same
SHOWN = 20
SHADES = (230, 223, 216, 209, 202)  # colour numbers of terminals, pale to deep orange
DIM, RESET = "\033[2m", "\033[0m"


class Stop(NamedTuple):
    """Where the model stops reading a text: after this many characters, and WordPieces."""

    characters: int
    wordpieces: int

    @property
    def note(self) -> str:
        """A sentence for the reader of an explanation."""
        limit = f"the first {self.wordpieces} WordPieces"
        return f"the model reads {limit}; the rest of the text was not read"


class Match(NamedTuple):
    """The terms of a query that a document's vector has, and those that it does not have.

    The impact of a term, and the parts of it that the two encoders contribute, are multiplied by
    the weight of the term in the query, which is 1 for boolean queries.
    """

    terms: list[TermWeight]
    missing: list[str]

    @property
    def missing_words(self) -> str:
        """The terms that the vector does not have, without punctuation, for people to read."""
        return " ".join(without_punctuation(self.missing))

    @property
    def score(self) -> int:
        """The score of the document in an index of the same model."""
        return sum(term.impact for term in self.terms)


def find_stop(encoder: DocumentEncoder, text: str) -> Stop | None:
    """Return where the model stops reading ``text``, or None if it reads the complete text."""
    end = encoder.characters_read(text)
    return Stop(end, encoder.config.max_length) if end < len(text) else None


def explain_match(encoder: DocumentEncoder, text: str, query: str) -> Match:
    """Return the contribution of each term of ``query`` to the score of the document ``text``."""
    (weights,) = encoder.queries.encode([query])
    matching = [
        _weighted(term, weights[term.term])
        for term in encoder.explain(text)
        if term.term in weights
    ]
    matching.sort(key=lambda term: -term.impact)
    names = {term.term for term in matching}
    return Match(matching, [term for term in weights if term not in names])


def _weighted(term: TermWeight, weight: int) -> TermWeight:
    """Multiply the impact of a term, and its parts, by the weight of the term in the query."""
    return term._replace(
        weighting=weight * term.weighting,
        expansion=weight * term.expansion,
        impact=weight * term.impact,
    )


def match_table(match: Match) -> str:
    """Return a table for a terminal: a row for each matching term, and a row with the sums."""
    rows = [[term.term, *parts(term), str(term.impact)] for term in match.terms]
    weighting = sum(term.weighting for term in match.terms)
    expansion = sum(term.expansion for term in match.terms)
    rows.append(["score", f"{weighting:.1f}", f"{expansion:.1f}", str(match.score)])
    table = render(["term", "weighting", "expansion", "impact"], rows)
    return f"{table}\nno match: {match.missing_words}" if match.missing_words else table


def heat_map(
    text: str,
    terms: list[TermWeight],
    queries: WordPieces | QueryEncoder,
    color: bool,
    stop: Stop | None = None,
) -> str:
    """Return ``text`` for a terminal, with words shaded by impact, as in the paper's Table 7.

    Below the text are the terms that expansion added, and the terms whose impact it raised. Without
    ``color``, the impacts are written after the words, but not after punctuation. After ``stop``,
    if given, comes a line that says so, and the text that the model did not read.
    """
    largest = terms[0].impact if terms else 1
    pieces = []
    for piece, impact in split_by_impact(text[: stop.characters if stop else None], terms, queries):
        plain = _harmless(piece)
        if not impact:
            pieces.append(plain)
        elif color:
            shade = SHADES[(impact - 1) * len(SHADES) // largest]
            pieces.append(f"\033[38;5;16;48;5;{shade}m{plain}{RESET}")
        else:
            pieces.append(f"{plain}:{impact}" if re.match(r"\w", plain) else plain)
    lines = ["".join(pieces)]
    if stop:
        unread = _harmless(text[stop.characters :].lstrip())
        lines += [f"[{stop.note}]", f"{DIM}{unread}{RESET}" if color else unread]
    for title, changed in changes(terms).items():
        lines.append(f"\n{title}: " + ("  ".join(changed) or "none"))
    return "\n".join(lines)


def _harmless(text: str) -> str:
    """Replace control characters, which could change the terminal's state."""
    return "".join(char if char.isprintable() or char == "\n" else " " for char in text)


def split_by_impact(
    text: str, terms: list[TermWeight], queries: WordPieces | QueryEncoder
) -> Iterator[tuple[str, int]]:
    """Yield words, punctuation and spaces, each with the largest impact of its WordPieces."""
    impacts = {term.term: term.impact for term in terms if term.in_document}
    return words_with_impacts(text, impacts, queries)


def words_with_impacts(
    text: str, impacts: Mapping[str, int], queries: WordPieces | QueryEncoder
) -> Iterator[tuple[str, int]]:
    """Yield words, punctuation and spaces with their impacts, given the impacts by term."""
    terms_of = as_queries(queries).terms_of
    for piece in re.findall(r"\w+|[^\w\s]|\s+", text):
        own = [impacts.get(term, 0) for term in terms_of(piece)]
        yield piece, max(own, default=0)


def changes(terms: list[TermWeight]) -> dict[str, list[str]]:
    """Return the added terms, and the terms of the document that expansion raised the most."""
    added = [term for term in terms if not term.in_document]
    raised = [term for term in terms if term.in_document and term.expansion >= 0.5]
    raised.sort(key=lambda term: -term.expansion)
    return {
        "added": [f"{term.term}:{term.impact}" for term in added[:SHOWN]],
        "raised": [f"{term.term}:+{term.expansion:.0f}" for term in raised[:SHOWN]],
    }


def parts(term: TermWeight) -> list[str]:
    """Return, as text, the parts of a term's impact that come from the two encoders."""
    return [f"{term.weighting:.1f}", f"{term.expansion:.1f}"]
