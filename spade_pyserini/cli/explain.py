"""``spade explain``: show why a document matches a query, and which terms the model added."""

from __future__ import annotations

import argparse
import difflib
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from spade_pyserini.cli import arguments
from spade_pyserini.cli.queries import use_color
from spade_pyserini.errors import NotFoundError, UsageError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.outputs import refuse_existing
from spade_pyserini.formats.unicode import is_valid_unicode
from spade_pyserini.records import Document

if TYPE_CHECKING:
    from spade_pyserini.corpora import Corpus
    from spade_pyserini.formats.index_manifest import IndexManifest
    from spade_pyserini.models.protocols import DocumentEncoder

EXAMPLE = """spade explain --index index/pydoc.spade-mini --docid shutil.rmtree
  spade explain --corpus pydoc --docid shutil.rmtree --query "delete a folder"
  spade explain --text "Recursively delete a directory tree." --html tree.html"""

COMPARED = 100_000  # number of ids that are compared with an unknown id, to suggest similar ones

logger = logging.getLogger(__name__)


class _Source(NamedTuple):
    """The inputs of an explanation.

    corpora: the corpora in which the document is looked up; empty if the user gave its text.
    model: the name or folder of the model.
    counts: the file of document frequencies; None if no such file is known.
    recorded: the manifest of the index that records the folder ``model``; None if the model was
        found in another way.
    """

    corpora: list[Corpus]
    model: str
    counts: Path | None
    recorded: IndexManifest | None = None


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade explain``."""
    description = "Show the terms and impacts of a document, or its score for a query."
    parser = arguments.new_parser("explain", description, EXAMPLE)
    add = parser.add_argument
    arguments.add_corpus(parser)
    add(
        "--index",
        metavar="DIR",
        help="an impact index of `spade index`, whose corpus, model and document frequencies are "
        "used; use this option instead of --corpus and the options that name columns",
    )
    arguments.add_data_dir(parser)
    add("--docid", metavar="ID", help="id of a document in --corpus or --index")
    add("--text", help="text of a document, instead of its id")
    add(
        "--model",
        metavar="NAME|PATH",
        help="model name or folder (default: spade-mini, or the model of --index)",
    )
    add(
        "--counts",
        metavar="FILE",
        help="file of document frequencies: the .counts.json next to the vectors of a corpus "
        "(default: the file of --index, or frequencies counted in --corpus)",
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

    # Check names before loading torch, which takes seconds.
    source = _source(options)
    found = _find(source.corpora, options.docid) if source.corpora else None
    document = found or Document("", "", options.text)
    text = document.contents
    if sys.stderr.isatty():  # torch and the model take seconds
        print(f"loading {source.model} ...", file=sys.stderr)

    from spade_pyserini.analysis.explain import explain_match, find_stop, heat_map, match_table
    from spade_pyserini.analysis.explanation_page import explanation_page, page_title

    encoder = _load(source)
    if encoder.config.scale is None:
        logger.warning("the model has no quantization scale: impacts are scaled to this document")
    terms = encoder.explain(text)
    stop = find_stop(encoder, text)
    match = explain_match(encoder, text, options.query) if options.query else None
    if match is None:
        print(heat_map(text, terms, encoder.queries, use_color(options.color), stop))
    else:
        print(match_table(match))
    if options.html:
        title = page_title(document, options.query)
        page = explanation_page(title, text, terms, encoder.queries, match, stop)
        with atomic_write(Path(options.html)) as stream:
            stream.write(page.encode())
        print(options.html)


def _check(options: argparse.Namespace) -> None:
    """Refuse options that contradict each other."""
    given = [bool(options.corpus), bool(options.index), bool(options.text)]
    if given.count(True) != 1 or bool(options.docid) == bool(options.text):
        way = "--docid ID with --corpus NAME|PATH or --index DIR"
        raise UsageError(f"give either {way}, or --text TEXT")
    if options.query is not None and not options.query.strip():
        raise UsageError("--query is empty; give the words to search for, or leave it out")
    for text in (options.text, options.query):
        if text and not is_valid_unicode(text):
            raise UsageError(f"the text {text!r} is not valid Unicode; correct its encoding")
    if options.html:
        refuse_existing(Path(options.html), options.overwrite)


def _source(options: argparse.Namespace) -> _Source:
    """Check the names and open the corpora, without loading torch."""
    from spade_pyserini.models.hub import DEFAULT
    from spade_pyserini.models.systems.recognise import check_model

    counts = Path(options.counts) if options.counts else None
    if counts is not None and not counts.is_file():
        message = f"{counts}: no such file; give the .counts.json next to the vectors"
        raise NotFoundError(message)
    if options.index:
        return _source_of_index(options, counts)
    check_model(options.model or DEFAULT)
    corpora = [arguments.open_corpus(options)] if options.corpus else []
    return _Source(corpora, options.model or DEFAULT, counts)


def _load(source: _Source) -> DocumentEncoder:
    """Load the model, with the document frequencies of the corpus if it needs them."""
    from spade_pyserini.encode.counts_file import count_corpus, fit_encoder
    from spade_pyserini.models.protocols import needs_counts
    from spade_pyserini.models.systems.loading import load_encoder

    encoder = load_encoder(source.model)
    if source.recorded and encoder.fingerprint != source.recorded.model_fingerprint:
        raise _unknown_model(source.recorded)
    if not needs_counts(encoder):
        return encoder
    if source.counts is not None:
        return fit_encoder(encoder, source.counts)
    if len(source.corpora) > 1:
        message = "the index was made from several corpora"
        raise UsageError(f"{message}; give --counts FILE, the .counts.json next to the vectors")
    if not source.corpora:
        return encoder
    counted = count_corpus(source.corpora[0], encoder)
    return encoder.for_corpus(counted.counts, counted.removed)


def _source_of_index(options: argparse.Namespace, counts: Path | None) -> _Source:
    """Open the corpora of ``--index``, and find its model and its document frequencies."""
    from spade_pyserini.analysis.stats import find_counts
    from spade_pyserini.formats.index_manifest import IndexManifest
    from spade_pyserini.models.systems.recognise import check_model
    from spade_pyserini.search.texts import remembered_corpora

    manifest = IndexManifest.load(Path(options.index))
    if manifest.kind != "impact":
        raise UsageError(f"{options.index} is a BM25 index; give --index DIR of an impact index")
    model = options.model or _model_of_index(manifest)
    check_model(model)
    corpora = remembered_corpora(manifest, data_dir=options.data_dir)
    counts = counts or find_counts(Path(options.index), manifest)
    in_folder = not options.model and bool(manifest.model_folder)
    return _Source(corpora, model, counts, manifest if in_folder else None)


def _model_of_index(manifest: IndexManifest) -> str:
    """Return the folder of an index's model, or its name if the model comes with this package.

    Raises `UsageError` if the manifest has only the name of another model, or if the folder that
    it records has no model now.
    """
    from spade_pyserini.formats.paths import is_model
    from spade_pyserini.models.wordpieces import PRETRAINED

    if manifest.model_folder:
        known = is_model(Path(manifest.model_folder))
    else:
        known = (PRETRAINED / manifest.model).is_dir()
    if not known:
        raise _unknown_model(manifest)
    return manifest.model_folder or manifest.model


def _unknown_model(manifest: IndexManifest) -> UsageError:
    message = f"the index was made with the model {manifest.model!r}"
    return UsageError(f"{message}; give its name or folder with --model NAME|PATH")


def _find(corpora: list[Corpus], docid: str) -> Document:
    """Return the document with this id; the error for an unknown id suggests similar ids."""
    docids = []
    for document in (document for corpus in corpora for document in corpus):
        if document.docid == docid:
            return document
        docids.append(document.docid)
    parts = [known for known in docids if docid.lower() in known.lower()]
    close = difflib.get_close_matches(docid, docids[:COMPARED], 3) or sorted(parts, key=len)[:3]
    hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
    names = " and ".join(corpus.name for corpus in corpora)
    raise NotFoundError(f"{names} has no document {docid!r}{hint}")


if __name__ == "__main__":
    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("explain"))
