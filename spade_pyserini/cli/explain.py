"""``python -m spade_pyserini.explain``: why a document is found, and which terms it was given."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from spade_pyserini.cli import command
from spade_pyserini.errors import NotFoundError, UsageError
from spade_pyserini.formats.files import atomic_write, is_valid_unicode, refuse_existing

if TYPE_CHECKING:
    from spade_pyserini.models import SpadeEncoder
    from spade_pyserini.models.term_counts import TermCounts

from spade_pyserini.analysis.explain import explain_match, heat_map, heat_map_html, match_table

MODULE = "spade_pyserini.explain"
EXAMPLE = """python -m spade_pyserini.explain --corpus pydoc --docid shutil.rmtree
  python -m spade_pyserini.explain --corpus pydoc --docid shutil.rmtree --query "delete a folder"
  python -m spade_pyserini.explain --text "Recursively delete a directory tree." --html tree.html"""

logger = logging.getLogger(MODULE)


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
        if text and not is_valid_unicode(text):
            raise UsageError(f"the text {text!r} is not valid Unicode")
    if options.html:
        refuse_existing(Path(options.html), options.overwrite)

    from spade_pyserini.models import SpadeEncoder
    from spade_pyserini.models.hub import DEFAULT

    text = options.text or _contents(options.corpus, options.docid)
    model = SpadeEncoder.from_pretrained(options.model or DEFAULT)
    if model.needs_counts and (options.corpus or options.counts):
        model = model.for_corpus(_counts(model, options.corpus, options.counts))
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


def _counts(model: SpadeEncoder, corpus: str | None, counts: str | None) -> TermCounts:
    from spade_pyserini.encode.counts_file import count_corpus, load_counts

    if counts:
        return load_counts(Path(counts), model.wordpieces)
    from spade_pyserini.corpora import open_corpus

    assert corpus is not None
    return count_corpus(open_corpus(corpus), model.wordpieces, model.config.max_length)


def _contents(corpus: str, docid: str) -> str:
    from spade_pyserini.corpora import open_corpus

    for document in open_corpus(corpus):
        if document.docid == docid:
            return document.contents
    raise NotFoundError(f"{corpus} has no document {docid!r}")


if __name__ == "__main__":
    command.run(main)
