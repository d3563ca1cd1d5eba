"""The HTML page of ``spade explain``: a document's terms, or why it matches a query."""

from __future__ import annotations

from html import escape
from textwrap import shorten
from typing import TYPE_CHECKING

from spade_pyserini.analysis.explain import Match, Stop, changes, parts, split_by_impact
from spade_pyserini.analysis.html.elements import details, paragraph, section, table
from spade_pyserini.analysis.html.page import page
from spade_pyserini.records import Document

if TYPE_CHECKING:
    from spade_pyserini.models.explanation import TermWeight
    from spade_pyserini.models.queries import QueryEncoder
    from spade_pyserini.models.wordpieces import WordPieces

DEEPEST = 0.6  # background opacity of the largest impact on a page; text stays readable on it
UNREAD = "opacity: .45"  # the style of text that the model did not read
FIRST = 20  # terms in the table; the others are collapsed
HEADER = ["term", "in the document", "weighting", "expansion", "impact"]


def page_title(document: Document, query: str | None = None) -> str:
    """Return a title: ``The terms of DOCUMENT``, or ``Why DOCUMENT matches QUERY``."""
    text = shorten(document.title or document.text, 60, placeholder=" ...")
    name = document.docid or f"\u201c{text}\u201d"
    if document.docid and document.title and document.title != document.docid:
        name = f"{document.docid} (\u201c{text}\u201d)"
    if query is None:
        return f"The terms of {name}"
    return f"Why {name} matches \u201c{shorten(query, 80, placeholder=' ...')}\u201d"


def explanation_page(
    title: str,
    text: str,
    terms: list[TermWeight],
    queries: WordPieces | QueryEncoder,
    match: Match | None = None,
    stop: Stop | None = None,
) -> str:
    """Return a self-contained page: the score if there is a query, the text, and all terms.

    The words of the text are shaded by impact; with a query, only the matching words are shaded.
    The text after ``stop``, which the model did not read, is dimmed.
    """
    shown = terms if match is None else match.terms
    note = (
        "The colour of a word shows the largest impact of its WordPieces: the deeper the colour, "
        "the larger the impact."
    )
    if match is not None:
        note = f"Only words that match the query have a colour. {note}"
    if stop is not None:
        note = f"{note} The dimmed text has no impacts: {stop.note}."
    sections = [] if match is None else [_score(match)]
    sections += [
        section("Document", _heat_map(text, shown, queries, stop), paragraph(note)),
        section(
            "Changes by term expansion",
            *(
                paragraph(f"{name}: {'  '.join(changed) or 'none'}", "")
                for name, changed in changes(terms).items()
            ),
        ),
        section("All terms", *_all_terms(terms), *_forms_note(terms)),
    ]
    return page(title, sections)


def _score(match: Match) -> str:
    """Return a section with the contribution of each term of the query to the score."""
    if not match.terms:
        return section("Score", paragraph("No term of the query matches the document.", ""))
    rows = [[*_row(term), f"{term.impact / max(1, match.score):.0%}"] for term in match.terms]
    missing = f"No match: {match.missing_words}." if match.missing_words else ""
    return section(
        f"Score {match.score}",
        table([*HEADER, "share"], rows),
        *([paragraph(missing)] if missing else []),
    )


def _heat_map(
    text: str,
    terms: list[TermWeight],
    queries: WordPieces | QueryEncoder,
    stop: Stop | None,
) -> str:
    largest = max((term.impact for term in terms), default=1)
    end = stop.characters if stop else len(text)
    pieces = [
        _shaded(piece, impact, largest)
        for piece, impact in split_by_impact(text[:end], terms, queries)
    ]
    if stop:
        pieces.append(f'<span style="{UNREAD}" title="{stop.note}">{escape(text[end:])}</span>')
    return f'<p style="white-space: pre-wrap; margin: 0">{"".join(pieces)}</p>'


def _shaded(piece: str, impact: int, largest: int) -> str:
    """Return a piece of the text as HTML, with a background colour for its impact."""
    if not impact:
        return escape(piece)
    style = f"background: rgb(239 120 40 / {DEEPEST * impact / largest:.2f}); border-radius: 3px"
    return f'<span style="{style}" title="impact {impact}">{escape(piece)}</span>'


def _all_terms(terms: list[TermWeight]) -> list[str]:
    """Return a table of the first terms, and a collapsed table of the others."""
    if not terms:
        return [paragraph("The document has no terms.")]
    rows = [_row(term) for term in terms]
    first, others = rows[:FIRST], rows[FIRST:]
    folded = [details(f"{len(others)} more terms", table(HEADER, others))] if others else []
    return [table(HEADER, first), *folded]


def _forms_note(terms: list[TermWeight]) -> list[str]:
    """Return a paragraph about inflected forms if the document has any."""
    if not any(term.form_of for term in terms):
        return []
    note = "An added form of a word of the text gets a share of the weight of this word."
    return [paragraph(note)]


def _row(term: TermWeight) -> list[str]:
    return [term.term, _origin(term), *parts(term), str(term.impact)]


def _origin(term: TermWeight) -> str:
    if term.in_document:
        return "yes"
    return f"added, form of {', '.join(term.form_of)}" if term.form_of else "added"
