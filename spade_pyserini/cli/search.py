"""``spade search``: search an index for topics, for one query, or for queries typed at a prompt."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from spade_pyserini.cli import arguments, queries
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.paths import safe_file_name

EXAMPLE = """spade search --index index/pydoc.spade-mini --topics pydoc/test
  spade search --index index/pydoc.spade-mini --query "delete a folder"
  spade search --index index/pydoc.spade-mini"""

logger = logging.getLogger(__name__)


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade search``."""
    description = (
        "Search an index for topics or for a query. If neither --topics nor --query is given, you "
        "type queries at a prompt. The manifest of an impact index records how queries are "
        "encoded. For SpaDE, a query is split into WordPieces, and a repeated WordPiece counts "
        "once."
    )
    parser = arguments.new_parser("search", description, EXAMPLE)
    add = parser.add_argument
    add("--index", required=True, metavar="DIR", help="an index of `spade index`")
    arguments.add_topics(parser)
    arguments.add_data_dir(parser)
    add("--query", metavar="TEXT", help="instead of --topics: print the hits of this query")
    summary = "show titles and snippets from this corpus (default: the corpus of the index)"
    arguments.add_corpus(parser, summary=summary)
    add("--json", action="store_true", help="with --query: print JSON")
    add("--color", choices=("auto", "always", "never"), default="auto", help="when to colour words")
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
        help="tokenizer.json, model folder or model name (default: the tokenizer of the index); "
        "needed for an index that another tool built",
    )
    add(
        "--query-encoder",
        metavar="NAME|PATH",
        help="the model that encodes queries, for an index that needs one (SPLADE, uniCOIL)",
    )
    add(
        "--pre-encoded",
        nargs="?",
        const="vector",
        metavar="FIELD",
        help="the topics are encoded already: a term of weight n is written n times (.tsv, .txt), "
        "or a line is a JSON object with the term weights in FIELD (.jsonl; default: vector)",
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
        help="text between the document id and the passage number in a passage id",
    )
    add("--overwrite", action="store_true", help="replace an existing run")
    add(
        "--no-check",
        action="store_true",
        help="skip the check of the index files against their checksums; the check reads all files "
        "when an index is first opened on this machine, and again after the index has changed",
    )
    return parser


def run(options: argparse.Namespace) -> None:
    """Write the run of the topics and print its path, or print the answers to queries."""
    _check(options)
    if options.topics:
        _search_topics(options)
    else:
        queries.answer_queries(options)


def _check(options: argparse.Namespace) -> None:
    """Refuse options that contradict each other."""
    if options.query is not None and not options.query.strip():
        raise UsageError("--query is empty; give the words to search for")
    if options.topics and options.query:
        raise UsageError("give either --topics NAME|FILE or --query TEXT, not both")
    if options.query_encoder and options.pre_encoded:
        raise UsageError("--pre-encoded topics need no query encoder; leave out --query-encoder")
    if options.pre_encoded and not options.topics:
        raise UsageError("--pre-encoded applies only with --topics FILE")
    if options.pre_encoded:
        arguments.refuse_fields(options, arguments.TOPIC_FIELDS, "topics that are not pre-encoded")
    if options.topics:
        for name in ("corpus", "json"):
            if getattr(options, name):
                raise UsageError(f"--{name} does not apply with --topics")
        return
    arguments.refuse_fields(options, arguments.TOPIC_FIELDS, "--topics")
    for name in ("output", "remove_query", "overwrite"):
        if getattr(options, name):
            raise UsageError(f"--{name.replace('_', '-')} applies only with --topics")
    if options.json and not options.query:
        raise UsageError("--json needs --query TEXT")
    if not options.query and not queries.on_terminal():
        raise UsageError("give --query TEXT or --topics NAME|FILE; the prompt needs a terminal")


def _search_topics(options: argparse.Namespace) -> None:
    from spade_pyserini.corpora.topics import read_encoded_topics, topics_name
    from spade_pyserini.formats.outputs import refuse_existing
    from spade_pyserini.records import Topic
    from spade_pyserini.search import (
        ImpactSearcher,
        SearchOptions,
        open_searcher,
        search_topics,
        write_run,
    )
    from spade_pyserini.search.query_models import pre_encoded_queries
    from spade_pyserini.search.topic_checks import log_ignored_words, refuse_wordpieces

    queries_of_index = queries.query_model(options)
    if options.pre_encoded:
        vectors = read_encoded_topics(
            options.topics, options.pre_encoded, data_dir=options.data_dir
        )
        queries_of_index = pre_encoded_queries(vectors)
        topics = [Topic(qid, qid) for qid in vectors]
    else:
        topics = arguments.read_topics(options)
    name = safe_file_name(topics_name(options.topics, data_dir=options.data_dir))
    index = Path(options.index).resolve().name
    output = Path(options.output or Path("runs", f"run.{index}.{name}.txt"))
    refuse_existing(output, options.overwrite)
    with open_searcher(
        options.index,
        options.tokenizer,
        options.k1,
        options.b,
        check=not options.no_check,
        queries=queries_of_index,
    ) as searcher:
        if isinstance(searcher, ImpactSearcher) and not options.pre_encoded:
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
