"""``python -m spade_pyserini.search``: topics to a TREC run, or one query for a person."""

from __future__ import annotations

import argparse
import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING

from spade_pyserini.cli import command
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.files import safe_file_name
from spade_pyserini.records import Document, Hit, Topic

if TYPE_CHECKING:
    from spade_pyserini.search import ImpactSearcher

MODULE = "spade_pyserini.search"
EXAMPLE = """python -m spade_pyserini.search --index index/pydoc.spade --topics pydoc-test
  python -m spade_pyserini.search --index index/pydoc.spade --query "delete a folder"
"""
PIECE = re.compile(r"\s##\w")  # what continues a word, as WordPieces are written
MANY = 1 / 3  # of the topics; of those of MS MARCO, as WordPieces, 48 % have such a piece
logger = logging.getLogger(MODULE)


def main(arguments: list[str]) -> None:
    parser = command.parser(MODULE, "Search an index with boolean WordPieces.", EXAMPLE)
    add = parser.add_argument
    add("--index", required=True, metavar="DIR", help="an index of spade_pyserini.index")
    add(
        "--topics",
        metavar="NAME|FILE",
        help="a split's name (pydoc/test), or a file: .tsv, .jsonl, .json, .trec, plain or .gz",
    )
    command.add_data_dir(parser)
    add("--query", metavar="TEXT", help="search this and print the hits, instead of --topics")
    add("--corpus", metavar="NAME|PATH", help="with --query: show the titles of this corpus")
    add("--output", metavar="FILE", help="the run (default: runs/run.INDEX.TOPICS.txt)")
    add(
        "--hits",
        type=command.positive,
        metavar="N",
        help="hits per topic (default: 1000, query: 10)",
    )
    add("--threads", type=command.threads, default=1, metavar="N", help="search threads")
    add("--batch-size", type=command.positive, default=64, metavar="N", help="topics per Java call")
    add(
        "--tokenizer",
        metavar="NAME|PATH",
        help="tokenizer.json, or a model's folder or name (default: the index's); with it, the "
        "index may be of another tool's making",
    )
    add("--k1", type=float, default=0.9, help="BM25's k1, for a BM25 index")
    add("--b", type=float, default=0.4, help="BM25's b, for a BM25 index")
    add("--remove-query", action="store_true", help="drop the document whose id is the topic's")
    add("--max-passage", action="store_true", help="rank documents by their best passage")
    add(
        "--max-passage-hits", type=command.positive, default=100, metavar="N", help="documents kept"
    )
    add("--max-passage-delimiter", default="#", metavar="TEXT", help="between document and passage")
    add("--overwrite", action="store_true", help="replace an existing run")
    options = parser.parse_args(arguments)
    command.log_to_stderr(options.verbose)
    if bool(options.topics) == bool(options.query):
        raise UsageError("give either --topics NAME|FILE or --query TEXT")
    for_runs = ("output", "remove_query", "max_passage", "overwrite")
    if options.query and any(getattr(options, name) for name in for_runs):
        raise UsageError("--query prints its hits: flags about runs go with --topics")
    if options.topics and options.corpus:
        raise UsageError("--corpus shows titles for --query only")
    _query(options) if options.query else _topics(options)


def _topics(options: argparse.Namespace) -> None:
    from spade_pyserini.corpora.topics import read_topics, topics_name
    from spade_pyserini.formats.files import refuse_existing
    from spade_pyserini.search import (
        ImpactSearcher,
        SearchOptions,
        open_searcher,
        search_topics,
        write_run,
    )

    topics = read_topics(options.topics)
    name = safe_file_name(topics_name(options.topics))
    index = Path(options.index).resolve().name
    output = Path(options.output or Path("runs", f"run.{index}.{name}.txt"))
    refuse_existing(output, options.overwrite)
    with open_searcher(options.index, options.tokenizer, options.k1, options.b) as searcher:
        if isinstance(searcher, ImpactSearcher):
            _refuse_wordpieces(searcher, topics)
            if options.verbose:
                _tell_unknown(searcher, topics)
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
        without = write_run(rankings, output, tag, options.overwrite)
    if without:
        logger.warning("%d of %d topics have no hit", without, len(topics))
    print(output)


def _refuse_wordpieces(searcher: ImpactSearcher, topics: list[Topic]) -> None:
    """Topics of spade_pyserini.topics would be split once more, silently, into other terms."""
    known = frozenset(searcher.wordpieces.terms)
    for topic in topics:
        words = topic.text.split()
        if any(word.startswith("##") for word in words[1:]) and known.issuperset(words):
            message = f"topic {topic.qid} holds WordPieces already ({topic.text[:60]!r})"
            raise UsageError(f"{message}; give the plain topics here, those are for Pyserini")
    pieces = [topic for topic in topics if PIECE.search(topic.text)]
    if len(pieces) > MANY * len(topics):
        message = f"{len(pieces)} of {len(topics)} topics hold WordPieces of another tokenizer"
        raise UsageError(f"{message} ({pieces[0].text[:60]!r}); give the plain topics here")


def _tell_unknown(searcher: ImpactSearcher, topics: list[Topic]) -> None:
    for topic in topics:
        if words := searcher.wordpieces.unknown_words(topic.text):
            shown = f"{len(words)} that the vocabulary cannot spell: {' '.join(words)}"
            logger.info("topic %s: ignored, %s", topic.qid, shown)
        if unknown := searcher.unknown_terms(topic.text):
            shown = " ".join(unknown)
            logger.info("topic %s: ignored, as no document has it: %s", topic.qid, shown)


def _query(options: argparse.Namespace) -> None:
    from spade_pyserini.search import ImpactSearcher, open_searcher

    with open_searcher(options.index, options.tokenizer, options.k1, options.b) as searcher:
        hits = searcher.search(options.query, options.hits or 10)
        titles = _titles(options.corpus, hits) if options.corpus else {}
        if isinstance(searcher, ImpactSearcher):
            print("query:", " ".join(searcher.wordpieces.query_terms(options.query)))
            if options.verbose:
                _tell_unknown(searcher, [Topic("query", options.query)])
        for rank, hit in enumerate(hits, start=1):
            title = titles[hit.docid].title if hit.docid in titles else ""
            print(f"{rank:4}  {hit.score:<10.6g} {hit.docid} {title}".rstrip())
            if isinstance(searcher, ImpactSearcher):
                matched = searcher.matched_terms(options.query, hit.docid)
                print(" " * 17 + "  ".join(f"{term}:{impact}" for term, impact in matched.items()))
        if not hits:
            print("no document has any of these terms")


def _titles(corpus: str, hits: list[Hit]) -> dict[str, Document]:
    from spade_pyserini.corpora import open_corpus

    wanted = {hit.docid for hit in hits}
    return {found.docid: found for found in open_corpus(corpus) if found.docid in wanted}


if __name__ == "__main__":
    command.run(main)
