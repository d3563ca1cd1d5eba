"""Why a document is found, and which terms it was given."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from spade_pyserini.formats.tables import render

if TYPE_CHECKING:
    from spade_pyserini.models import SpadeEncoder
    from spade_pyserini.models.explanation import TermWeight
    from spade_pyserini.models.wordpieces import WordPieces

SHOWN = 20  # added and raised terms, each
SHADES = (230, 223, 216, 209, 202)  # of a terminal's 256 colours, from pale to deep orange
DEEPEST = 0.6  # opacity of the largest impact on a page: letters stay readable on it

logger = logging.getLogger(__name__)


class Match(NamedTuple):
    """The terms of a query that a document's vector has, and those that it lacks."""

    terms: list[TermWeight]
    missing: list[str]

    @property
    def score(self) -> int:
        """What search gives for the document on an index of the same model."""
        return sum(term.impact for term in self.terms)


def explain_match(model: SpadeEncoder, text: str, query: str) -> Match:
    """What each term of ``query`` gives to the score of the document ``text``."""
    wanted = model.wordpieces.query_terms(query)
    found = [term for term in model.explain(text) if term.term in wanted]
    matched = {term.term for term in found}
    return Match(found, [term for term in wanted if term not in matched])


def match_table(match: Match) -> str:
    """A line for each matching term and their sum, for a terminal."""
    rows = [[*_parts(term), str(term.impact)] for term in match.terms]
    sums = [sum(one.weighting for one in match.terms), sum(one.expansion for one in match.terms)]
    rows.append(["score", *(f"{value:.1f}" for value in sums), str(match.score)])
    table = render(["term", "weighting", "expansion", "impact"], rows)
    return f"{table}\nno match: {' '.join(match.missing)}" if match.missing else table


def heat_map(text: str, terms: list[TermWeight], wordpieces: WordPieces, color: bool) -> str:
    """The paper's Table 7 for a terminal: words shaded by impact, then what expansion did.

    Without colours, impacts stand behind the words, those of punctuation are left out.
    """
    largest = terms[0].impact if terms else 1
    pieces = []
    for word, impact in shaded(text, terms, wordpieces):
        plain = "".join(one if one.isprintable() or one == "\n" else " " for one in word)
        if not impact:
            pieces.append(plain)
        elif color:
            shade = SHADES[(impact - 1) * len(SHADES) // largest]
            pieces.append(f"\033[38;5;16;48;5;{shade}m{plain}\033[0m")
        else:
            pieces.append(f"{plain}:{impact}" if re.match(r"\w", plain) else plain)
    lines = ["".join(pieces)]
    for title, found in _changes(terms).items():
        lines.append(f"\n{title}: " + ("  ".join(found) or "none"))
    return "\n".join(lines)


def heat_map_html(title: str, text: str, terms: list[TermWeight], wordpieces: WordPieces) -> str:
    """The same as a page that needs nothing but itself, with a table of all terms."""
    from spade_pyserini.analysis import html

    largest = terms[0].impact if terms else 1
    pieces = []
    for word, impact in shaded(text, terms, wordpieces):
        if impact:
            style = f"background: rgb(239 120 40 / {DEEPEST * impact / largest:.2f})"
            hint = f'title="impact {impact}"'
            pieces.append(f'<span style="{style}; border-radius: 3px" {hint}>{escape(word)}</span>')
        else:
            pieces.append(escape(word))
    document = f'<p style="white-space: pre-wrap; margin: 0">{"".join(pieces)}</p>'
    changes = [
        html.paragraph(f"{name}: {'  '.join(found) or 'none'}", "")
        for name, found in _changes(terms).items()
    ]
    rows = [
        [one.term, "yes" if one.in_document else "added", *_parts(one)[1:], str(one.impact)]
        for one in terms
    ]
    header = ["term", "in the document", "weighting", "expansion", "impact"]
    table = html.table(header, rows) if rows else html.paragraph("It has none.")
    note = "The deeper the colour, the larger the impact of a word's best WordPiece."
    return html.page(
        title,
        [
            html.section("Document", document, html.paragraph(note)),
            html.section("What expansion did", *changes),
            html.section("All terms", table),
        ],
    )


def shaded(text: str, terms: list[TermWeight], wordpieces: WordPieces) -> Iterator[tuple[str, int]]:
    """The text in pieces, each with the largest impact of its own WordPieces, 0 for none."""
    impacts = {term.term: term.impact for term in terms if term.in_document}
    for piece in re.findall(r"\w+|[^\w\s]|\s+", text):
        yield piece, max((impacts.get(one, 0) for one in wordpieces.query_terms(piece)), default=0)


def _changes(terms: list[TermWeight]) -> dict[str, list[str]]:
    """The terms that expansion added, and those of the document that it raised most."""
    added = [one for one in terms if not one.in_document]
    raised = [one for one in terms if one.in_document and one.expansion >= 0.5]
    raised.sort(key=lambda one: -one.expansion)
    return {
        "added": [f"{one.term}:{one.impact}" for one in added[:SHOWN]],
        "raised": [f"{one.term}:+{one.expansion:.0f}" for one in raised[:SHOWN]],
    }


def _parts(term: TermWeight) -> list[str]:
    return [term.term, f"{term.weighting:.1f}", f"{term.expansion:.1f}"]
