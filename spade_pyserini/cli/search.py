"""``spade search``: search an index for topics, or for one query."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

from spade_pyserini.cli import arguments
from spade_pyserini.errors import ArtifactError, UsageError
from spade_pyserini.formats.paths import safe_file_name
from spade_pyserini.formats.unicode import printable
from spade_pyserini.records import Hit, Topic

if TYPE_CHECKING:
    from spade_pyserini.search import ImpactSearcher

EXAMPLE = """spade search --index index/pydoc.spade-mini --topics pydoc/test
  spade search --index index/pydoc.spade-mini --query "delete a folder" --corpus pydoc"""

logger = logging.getLogger(__name__)


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade search``."""
    description = "Search an index. A query is split into WordPieces; a repeated one counts once."
    parser = arguments.new_parser("search", description, EXAMPLE)
    add = parser.add_argument
    add("--index", required=True, metavar="DIR", help="an index of `spade index`")
    add("--topics", metavar="NAME|FILE", help=arguments.TOPICS_HELP)
    arguments.add_data_dir(parser)
    add("--query", metavar="TEXT", help="search this text and print the hits, without --topics")
    add(
        "--corpus",
        metavar="NAME|PATH",
        help="with --query: print titles, or first words, from this corpus",
    )
    add("--output", metavar="FILE", help="the run (default: runs/run.INDEX.TOPICS.txt)")
    add(
        "--hits",
        type=arguments.positive,
        metavar="N",
        help="hits per topic (default: 1000; with --query: 10)",
    )
    add("--threads", type=arguments.threads, default=1, metavar="N", help="search threads")
    add(
        "--batch-size",
        type=arguments.positive,
        default=64,
        metavar="N",
        help="topics per call to Java",
    )
    add(
        "--tokenizer",
        metavar="NAME|PATH",
        help="tokenizer.json, model folder or model name (default: the index's); needed for an "
        "index that another tool built",
    )
    add("--k1", type=float, default=0.9, help="k1 of BM25, for a BM25 index")
    add("--b", type=float, default=0.4, help="b of BM25, for a BM25 index")
    add("--remove-query", action="store_true", help="drop the hit whose docid is the topic's id")
    add("--max-passage", action="store_true", help="rank documents by their best passage")
    add(
        "--max-passage-hits",
        type=arguments.positive,
        default=100,
        metavar="N",
        help="documents per topic with --max-passage",
    )
    add(
        "--max-passage-delimiter",
        default="#",
        metavar="TEXT",
        help="text between the ids of document and passage",
    )
    add("--overwrite", action="store_true", help="replace an existing run")
    add(
        "--no-check",
        action="store_true",
        help="do not compare the index files with their checksums, which reads all of them the "
        "first time an index is opened on this machine and after it changed",
    )
    return parser


def run(options: argparse.Namespace) -> None:
    """Write the run of the topics and print its path, or print the hits of one query."""
    if bool(options.topics) == bool(options.query):
        raise UsageError("give either --topics NAME|FILE or --query TEXT")
    for_runs = ("output", "remove_query", "max_passage", "overwrite")
    if options.query:
        for name in for_runs:
            if getattr(options, name):
                raise UsageError(
                    f"--{name.replace('_', '-')} applies only with --topics, not --query"
                )
    if options.topics and options.corpus:
        raise UsageError("--corpus applies only with --query, to print titles")
    if options.query:
        _search_query(options)
    else:
        _search_topics(options)


def _search_topics(options: argparse.Namespace) -> None:
    from spade_pyserini.corpora.topics import read_topics, topics_name
    from spade_pyserini.formats.outputs import refuse_existing
    from spade_pyserini.search import (
        ImpactSearcher,
        SearchOptions,
        open_searcher,
        search_topics,
        write_run,
    )
    from spade_pyserini.search.topic_checks import log_ignored_words, refuse_wordpieces

    topics = read_topics(options.topics, data_dir=options.data_dir)
    name = safe_file_name(topics_name(options.topics, data_dir=options.data_dir))
    index = Path(options.index).resolve().name
    output = Path(options.output or Path("runs", f"run.{index}.{name}.txt"))
    refuse_existing(output, options.overwrite)
    with open_searcher(
        options.index, options.tokenizer, options.k1, options.b, check=not options.no_check
    ) as searcher:
        if isinstance(searcher, ImpactSearcher):
            refuse_wordpieces(topics, searcher.wordpieces)
            if options.verbose:
                log_ignored_words(topics, searcher)
        settings = SearchOptions(
            hits=options.hits or 1000,
            threads=options.threads,
            batch_size=options.batch_size,
            remove_query=options.remove_query,
            max_passage=options.max_passage,
            max_passage_hits=options.max_passage_hits,
            max_passage_delimiter=options.max_passage_delimiter,
        )
        rankings = search_topics(searcher, topics, settings)
        tag = safe_file_name(searcher.manifest.model)
        empty = write_run(rankings, output, tag, options.overwrite)
    if empty:
        logger.warning("%d of %d topics have no hit", empty, len(topics))
    print(output)


def _search_query(options: argparse.Namespace) -> None:
    from spade_pyserini.search import ImpactSearcher, open_searcher
    from spade_pyserini.search.topic_checks import log_ignored_words

    with open_searcher(
        options.index, options.tokenizer, options.k1, options.b, check=not options.no_check
    ) as searcher:
        hits = searcher.search(options.query, options.hits or 10)
        titles = _titles(options, hits) if options.corpus else {}
        if isinstance(searcher, ImpactSearcher):
            print("query:", " ".join(searcher.wordpieces.query_terms(options.query)))
            if options.verbose:
                log_ignored_words([Topic("query", options.query)], searcher)
        for rank, hit in enumerate(hits, start=1):
            title = titles.get(hit.docid, "")
            print(printable(f"{rank:4}  {hit.score:<10.6g} {hit.docid} {title}".rstrip()))
            if isinstance(searcher, ImpactSearcher):
                matches = _matched_terms(searcher, options.query, hit.docid)
                print(" " * 17 + "  ".join(f"{term}:{impact}" for term, impact in matches.items()))
        if not hits:
            print("no document has any of these terms")


def _matched_terms(searcher: ImpactSearcher, query: str, docid: str) -> dict[str, int]:
    """The terms of a hit; `ArtifactError` if the index does not find its own hit again."""
    try:
        return searcher.matched_terms(query, docid)
    except UsageError:
        message = f"{searcher.index}: damaged, it returns {docid!r} but does not have it"
        cure = "check it with `spade index --verify`, or build it again"
        raise ArtifactError(f"{message}; {cure}") from None


def _titles(options: argparse.Namespace, hits: list[Hit]) -> dict[str, str]:
    """Titles of the hits by docid, or the first words of their texts, from ``--corpus``."""
    from spade_pyserini.corpora import open_corpus

    docids = {hit.docid for hit in hits}
    corpus = open_corpus(options.corpus, data_dir=options.data_dir)
    return {
        document.docid: document.title or shorten(document.text, 70, placeholder=" ...")
        for document in corpus
        if document.docid in docids
    }
