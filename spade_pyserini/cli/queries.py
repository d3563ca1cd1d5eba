"""Answer the query of ``spade search --query``, or the queries that a user types at a prompt."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from spade_pyserini.cli import arguments
from spade_pyserini.errors import SpadeError
from spade_pyserini.formats.unicode import is_valid_unicode

if TYPE_CHECKING:
    from spade_pyserini.index.queries import MakeQueries
    from spade_pyserini.records import Document, FindDocuments
    from spade_pyserini.search.answers import Searcher
    from spade_pyserini.search.texts import Texts

PROMPT = "query> "

logger = logging.getLogger(__name__)


def on_terminal() -> bool:
    """Return whether input and output are a terminal, so that a user can type queries."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def use_color(choice: str) -> bool:
    """Return whether to print colours.

    ``choice`` is ``always``, ``never`` or ``auto``. With ``auto``, colours are printed only on a
    terminal that can show them, and only if NO_COLOR is not set.
    """
    if choice != "auto":
        return choice == "always"
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not plain


def answer_queries(options: argparse.Namespace) -> None:
    """Print the answers to ``--query`` or, without it, to the queries that a user types."""
    from spade_pyserini.search import open_searcher
    from spade_pyserini.search.answers import answer_query

    with open_searcher(
        options.index,
        options.tokenizer,
        options.k1,
        options.b,
        check=not options.no_check,
        queries=query_model(options),
    ) as searcher:
        find = _finder(options, searcher)
        delimiter = options.max_passage_delimiter if options.max_passage else None
        for query in (options.query,) if options.query else _typed_queries(searcher):
            answers = answer_query(searcher, query, options.hits or 10, find, delimiter)
            if options.json:
                print(json.dumps(answers.as_json()))
            else:
                print(answers.as_text(color=use_color(options.color)))


def query_model(options: argparse.Namespace) -> MakeQueries | None:
    """Return a function that loads the model of ``--query-encoder``; None without this option.

    The name of the model is checked here, before torch is loaded.
    """
    if options.query_encoder is None:
        return None
    from spade_pyserini.models.systems.recognise import check_model
    from spade_pyserini.search.query_models import neural_queries

    check_model(options.query_encoder)
    return neural_queries(options.query_encoder)


def _typed_queries(searcher: Searcher) -> Iterator[str]:
    """Yield the lines that a user types, until an empty line or Ctrl-D."""
    with suppress(ImportError):  # Windows has no readline
        import readline  # noqa: F401 - gives `input` a history and editing keys
    count = f"{searcher.manifest.documents:,} documents"
    print(f"{searcher.index}: {count}. Type a query; an empty line or Ctrl-D ends.")
    while True:
        try:
            query = input(PROMPT).strip()
        except (EOFError, KeyboardInterrupt):
            print()
            return
        if not query:
            return
        if is_valid_unicode(query):
            yield query
        else:
            print("the query is not valid Unicode; check the encoding of the terminal")


def _finder(options: argparse.Namespace, searcher: Searcher) -> FindDocuments | None:
    """Return a function that finds documents by id, or None if the texts cannot be read.

    If the corpus of ``--corpus`` has errors, they are raised. If the corpus that the manifest of
    the index records has errors, they are only logged.
    """
    from spade_pyserini.search.texts import AUTOMATIC, Texts, divided_like, open_texts

    keep = not options.query and searcher.manifest.documents <= AUTOMATIC
    if options.corpus:
        corpus = divided_like(searcher.manifest, arguments.open_corpus(options))
        return Texts([corpus], keep=keep).find
    try:
        texts = open_texts(searcher.manifest, data_dir=options.data_dir, keep=keep)
    except SpadeError as error:
        _log_missing_texts(error)
        return None
    return lambda docids: _find_or_log(texts, docids)


def _find_or_log(texts: Texts, docids: Collection[str]) -> Mapping[str, Document]:
    try:
        documents = texts.find(docids)
    except (SpadeError, OSError) as error:
        _log_missing_texts(error)
        return {}
    if missing := len(set(docids) - documents.keys()):
        logger.warning("%d of %d hits are no longer in the corpus", missing, len(docids))
    return documents


def _log_missing_texts(error: Exception) -> None:
    logger.warning("no texts are shown: %s; to show texts, give --corpus NAME|PATH", error)
