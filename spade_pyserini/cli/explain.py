"""``spade explain``: why a document matches a query, and which terms the model added."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from spade_pyserini.cli import arguments
from spade_pyserini.errors import NotFoundError, UsageError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.outputs import refuse_existing
from spade_pyserini.formats.unicode import is_valid_unicode

if TYPE_CHECKING:
    from spade_pyserini.corpora import Corpus

EXAMPLE = """spade explain --corpus pydoc --docid shutil.rmtree
  spade explain --corpus pydoc --docid shutil.rmtree --query "delete a folder"
  spade explain --text "Recursively delete a directory tree." --html tree.html"""

logger = logging.getLogger(__name__)


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade explain``."""
    description = "Show the terms and impacts of a document, or its score for a query."
    parser = arguments.new_parser("explain", description, EXAMPLE)
    add = parser.add_argument
    add("--corpus", metavar="NAME|PATH", help=arguments.CORPUS_HELP)
    arguments.add_data_dir(parser)
    add("--docid", metavar="ID", help="id of a document in --corpus")
    add("--text", help="text of a document, instead of --corpus and --docid")
    add("--model", metavar="NAME|PATH", help="model name or folder (default: spade-mini)")
    add(
        "--counts",
        metavar="FILE",
        help="document frequencies, the .counts.json next to vectors (default: count --corpus)",
    )
    add("--query", metavar="TEXT", help="show how much each term of this query adds to the score")
    add("--html", metavar="FILE", help="also write the heat map as an HTML page")
    add("--color", choices=("auto", "always", "never"), default="auto", help="shade the words")
    add("--overwrite", action="store_true", help="replace an existing page")
    return parser


def run(options: argparse.Namespace) -> None:
    """Print the terms of a document as a heat map, or the score of a query term by term."""
    _check(options)

    from spade_pyserini.analysis.explain import explain_match, heat_map, heat_map_html, match_table
    from spade_pyserini.corpora import open_corpus
    from spade_pyserini.encode.counts_file import count_corpus, fit_encoder
    from spade_pyserini.models import SpadeEncoder
    from spade_pyserini.models.hub import DEFAULT

    corpus = open_corpus(options.corpus, data_dir=options.data_dir) if options.corpus else None
    text = options.text if corpus is None else _contents(corpus, options.docid)
    if options.model == "":
        raise UsageError("--model is empty; give the name or folder of a model, or leave it out")
    encoder = SpadeEncoder.from_pretrained(options.model or DEFAULT)
    if encoder.needs_counts:
        if options.counts:
            encoder = fit_encoder(encoder, Path(options.counts))
        elif corpus is not None:
            counted = count_corpus(corpus, encoder)
            encoder = encoder.for_corpus(counted.counts, counted.removed)
    if encoder.config.scale is None:
        logger.warning("the model has no scale: impacts are relative to this document's largest")
    terms = encoder.explain(text)
    if options.query:
        print(match_table(explain_match(encoder, text, options.query)))
    else:
        color = options.color == "always" or (options.color == "auto" and sys.stdout.isatty())
        print(heat_map(text, terms, encoder.wordpieces, color))
    if options.html:
        page = heat_map_html(options.docid or "document", text, terms, encoder.wordpieces)
        with atomic_write(Path(options.html)) as stream:
            stream.write(page.encode())


def _check(options: argparse.Namespace) -> None:
    """Refuse options that contradict each other."""
    if bool(options.corpus) != bool(options.docid) or bool(options.corpus) == bool(options.text):
        raise UsageError("give either --corpus NAME|PATH and --docid ID, or --text TEXT")
    for text in (options.text, options.query):
        if text and not is_valid_unicode(text):
            raise UsageError(f"the text {text!r} is not valid Unicode")
    if options.html:
        refuse_existing(Path(options.html), options.overwrite)


def _contents(corpus: Corpus, docid: str) -> str:
    """Title and text of a document."""
    for document in corpus:
        if document.docid == docid:
            return document.contents
    raise NotFoundError(f"{corpus.name} has no document {docid!r}")


if __name__ == "__main__":
    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("explain"))
