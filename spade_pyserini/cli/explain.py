"""``spade explain``: show why a document matches a query, and which terms the model added."""

from __future__ import annotations

import argparse
import difflib
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from spade_pyserini.cli import arguments
from spade_pyserini.cli.queries import use_color
from spade_pyserini.errors import NotFoundError, UsageError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.outputs import refuse_existing
from spade_pyserini.formats.unicode import is_valid_unicode
from spade_pyserini.records import Document

if TYPE_CHECKING:
    from spade_pyserini.corpora import Corpus

EXAMPLE = """spade explain --corpus pydoc --docid shutil.rmtree
  spade explain --corpus pydoc --docid shutil.rmtree --query "delete a folder"
  spade explain --text "Recursively delete a directory tree." --html tree.html"""

COMPARED = 100_000  # number of ids that are compared with an unknown id, to suggest similar ones

logger = logging.getLogger(__name__)


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade explain``."""
    description = "Show the terms and impacts of a document, or its score for a query."
    parser = arguments.new_parser("explain", description, EXAMPLE)
    add = parser.add_argument
    arguments.add_corpus(parser)
    arguments.add_data_dir(parser)
    add("--docid", metavar="ID", help="id of a document in --corpus")
    add("--text", help="text of a document, instead of --corpus and --docid")
    add("--model", metavar="NAME|PATH", help="model name or folder (default: spade-mini)")
    add(
        "--counts",
        metavar="FILE",
        help="document frequencies: the .counts.json next to the vectors of a corpus (default: "
        "counted in --corpus)",
    )
    add("--query", metavar="TEXT", help="show how much each term of this query adds to the score")
    add(
        "--html",
        metavar="FILE",
        help="also write an HTML page with the terms or, with --query, the score",
    )
    add("--color", choices=("auto", "always", "never"), default="auto", help="when to shade words")
    add("--overwrite", action="store_true", help="replace an existing page")
    return parser


def run(options: argparse.Namespace) -> None:
    """Print the terms of a document as a heat map, or the score of a query term by term."""
    _check(options)

    from spade_pyserini.models.hub import DEFAULT
    from spade_pyserini.models.systems.recognise import check_model

    # Check names before loading torch, which takes seconds.
    check_model(options.model or DEFAULT)
    if options.counts and not Path(options.counts).is_file():
        raise NotFoundError(
            f"{options.counts}: no such file; give the .counts.json next to the vectors"
        )
    corpus = arguments.open_corpus(options) if options.corpus else None
    document = Document("", "", options.text) if corpus is None else _find(corpus, options.docid)
    text = document.contents

    from spade_pyserini.analysis.explain import explain_match, heat_map, match_table
    from spade_pyserini.analysis.explanation_page import explanation_page, page_title
    from spade_pyserini.encode.counts_file import count_corpus, fit_encoder
    from spade_pyserini.models.protocols import needs_counts
    from spade_pyserini.models.systems.loading import load_encoder

    encoder = load_encoder(options.model or DEFAULT)
    if needs_counts(encoder):
        if options.counts:
            encoder = fit_encoder(encoder, Path(options.counts))
        elif corpus is not None:
            counted = count_corpus(corpus, encoder)
            encoder = encoder.for_corpus(counted.counts, counted.removed)
    if encoder.config.scale is None:
        logger.warning("the model has no quantization scale: impacts are scaled to this document")
    terms = encoder.explain(text)
    match = explain_match(encoder, text, options.query) if options.query else None
    if match is None:
        print(heat_map(text, terms, encoder.queries, use_color(options.color)))
    else:
        print(match_table(match))
    if options.html:
        title = page_title(document, options.query)
        page = explanation_page(title, text, terms, encoder.queries, match)
        with atomic_write(Path(options.html)) as stream:
            stream.write(page.encode())
        print(options.html)


def _check(options: argparse.Namespace) -> None:
    """Refuse options that contradict each other."""
    if bool(options.corpus) != bool(options.docid) or bool(options.corpus) == bool(options.text):
        raise UsageError("give either --corpus NAME|PATH and --docid ID, or --text TEXT")
    if options.query is not None and not options.query.strip():
        raise UsageError("--query is empty; give the words to search for, or leave it out")
    for text in (options.text, options.query):
        if text and not is_valid_unicode(text):
            raise UsageError(f"the text {text!r} is not valid Unicode; correct its encoding")
    if options.html:
        refuse_existing(Path(options.html), options.overwrite)


def _find(corpus: Corpus, docid: str) -> Document:
    """Return the document with this id; the error for an unknown id suggests similar ids."""
    docids = []
    for document in corpus:
        if document.docid == docid:
            return document
        docids.append(document.docid)
    parts = [known for known in docids if docid.lower() in known.lower()]
    close = difflib.get_close_matches(docid, docids[:COMPARED], 3) or sorted(parts, key=len)[:3]
    hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
    raise NotFoundError(f"{corpus.name} has no document {docid!r}{hint}")


if __name__ == "__main__":
    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("explain"))
