"""``python -m spade_pyserini.explain``: why a document is found, and which terms it was given."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from spade_pyserini.cli import command
from spade_pyserini.errors import NotFoundError, UsageError
from spade_pyserini.formats.files import atomic_write, is_unicode, refuse_existing
from spade_pyserini.formats.tables import render

if TYPE_CHECKING:
    from spade_pyserini.models import SpadeModel
    from spade_pyserini.models.term_counts import TermCounts
    from spade_pyserini.models.term_weights import TermWeight
    from spade_pyserini.models.wordpieces import WordPieces

MODULE = "spade_pyserini.explain"
EXAMPLE = """python -m spade_pyserini.explain --corpus pydoc --docid shutil.rmtree
  python -m spade_pyserini.explain --corpus pydoc --docid shutil.rmtree --query "delete a folder"
  python -m spade_pyserini.explain --text "Recursively delete a directory tree." --html tree.html"""
SHOWN = 20  # added and raised terms, each
SHADES = (230, 223, 216, 209, 202)  # of a terminal's 256 colours, from pale to deep orange
DEEPEST = 0.6  # opacity of the largest impact on a page: letters stay readable on it

logger = logging.getLogger(MODULE)


class Match(NamedTuple):
    """The terms of a query that a document's vector has, and those that it lacks."""

    terms: list[TermWeight]
    missing: list[str]

    @property
    def score(self) -> int:
        """What search gives for the document on an index of the same model."""
        return sum(term.impact for term in self.terms)


def explain_match(model: SpadeModel, text: str, query: str) -> Match:
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


def main(arguments: list[str]) -> None:
    description = "Show why a document is found, or which terms it was given."
    parser = command.parser(MODULE, description, EXAMPLE)
    add = parser.add_argument
    add("--corpus", metavar="NAME|PATH", help="as for spade_pyserini.encode")
    command.add_data_dir(parser)
    add("--docid", metavar="ID", help="the document of --corpus")
    add("--text", help="a document's text, instead of --corpus and --docid")
    add("--model", metavar="NAME|PATH", help="model name or folder (default: spade-mini)")
    add(
        "--counts",
        metavar="FILE",
        help="how rare terms are, from beside the vectors (default: --corpus is counted)",
    )
    add("--query", metavar="TEXT", help="what each term of this query gives to the score")
    add("--html", metavar="FILE", help="write the heat map as a page too")
    add("--color", choices=("auto", "always", "never"), default="auto", help="shade the words")
    add("--overwrite", action="store_true", help="replace an existing page")
    options = parser.parse_args(arguments)
    command.log_to_stderr(options.verbose)
    if bool(options.corpus) != bool(options.docid) or bool(options.corpus) == bool(options.text):
        raise UsageError("give either --corpus NAME|PATH and --docid ID, or --text TEXT")
    for text in (options.text, options.query):
        if text and not is_unicode(text):
            raise UsageError(f"the text {text!r} is not valid Unicode")
    if options.html:
        refuse_existing(Path(options.html), options.overwrite)

    from spade_pyserini.models import SpadeModel
    from spade_pyserini.models.hub import DEFAULT

    text = options.text or _contents(options.corpus, options.docid)
    model = SpadeModel.from_pretrained(options.model or DEFAULT)
    if model.config.corpus_idf and (options.corpus or options.counts):
        model.read_corpus(_counts(model, options.corpus, options.counts))
    if model.config.scale is None:
        logger.warning("the model has no scale: impacts are relative to this document's largest")
    terms = model.explain(text)
    if options.query:
        print(match_table(explain_match(model, text, options.query)))
    else:
        color = options.color == "always" or (options.color == "auto" and sys.stdout.isatty())
        print(heat_map(text, terms, model.wordpieces, color))
    if options.html:
        page = heat_map_html(options.docid or "document", text, terms, model.wordpieces)
        with atomic_write(Path(options.html)) as stream:
            stream.write(page.encode())


def _counts(model: SpadeModel, corpus: str | None, counts: str | None) -> TermCounts:
    from spade_pyserini.encode.counts_file import count_corpus, load_counts

    if counts:
        return load_counts(Path(counts), model.wordpieces)
    from spade_pyserini.corpora import open_corpus

    assert corpus is not None
    return count_corpus(open_corpus(corpus), model)


def _contents(corpus: str, docid: str) -> str:
    from spade_pyserini.corpora import open_corpus

    for document in open_corpus(corpus):
        if document.docid == docid:
            return document.contents
    raise NotFoundError(f"{corpus} has no document {docid!r}")


if __name__ == "__main__":
    command.run(main)
