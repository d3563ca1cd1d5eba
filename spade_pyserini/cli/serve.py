"""``spade serve``: serve an index as a web page and a JSON API."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from spade_pyserini.cli import arguments
from spade_pyserini.errors import UsageError

if TYPE_CHECKING:
    from spade_pyserini.formats.index_manifest import IndexManifest
    from spade_pyserini.search.texts import Texts
    from spade_pyserini.serve.judgements import Judgements
    from spade_pyserini.serve.service import ServeOptions

EXAMPLE = """spade serve --index index/pydoc.spade-mini
  spade serve --index index/pydoc.spade-mini --bm25 index/pydoc.bm25 --qrels pydoc/dev"""

logger = logging.getLogger(__name__)


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade serve``."""
    description = (
        "Serve an index as a web page and a JSON API. The page shows the hits of a query and why "
        "they match, and compares them with the hits of BM25. Only this machine can connect, "
        "unless you set --host. If the index changes, the server opens the new version. Ctrl-C "
        "stops the server."
    )
    parser = arguments.new_parser("serve", description, EXAMPLE)
    add = parser.add_argument
    add("--index", required=True, metavar="DIR", help="an impact index of `spade index`")
    add("--bm25", metavar="DIR", help="a BM25 index of the same documents, to compare with")
    summary = "show the texts of this corpus (default: the corpus of the index)"
    arguments.add_corpus(parser, summary=summary)
    add(
        "--qrels",
        nargs="+",
        default=[],
        metavar="NAME|FILE",
        help="show judgements for queries that are topics of these splits or qrels files",
    )
    arguments.add_topics(parser, summary="the topics of --qrels, if --qrels is a file")
    arguments.add_fields(parser, arguments.QRELS_FIELDS, "--qrels")
    add("--model", metavar="NAME|DIR", help="model that expands texts; it is loaded at first use")
    add("--tokenizer", metavar="NAME|PATH", help="tokenizer, if another tool built the index")
    arguments.add_data_dir(parser)
    add("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 for all networks")
    add(
        "--port",
        type=arguments.integer(0, 65535),
        default=8080,
        help="port to listen on; 0 for any free port",
    )
    add(
        "--threads",
        type=arguments.threads,
        metavar="N",
        help="requests to answer at the same time (default: one per core, at most 8)",
    )
    add(
        "--timeout",
        type=arguments.positive,
        default=10,
        metavar="SECONDS",
        help="time limit for receiving a request, and for answering it",
    )
    return parser


def run(options: argparse.Namespace) -> None:
    """Open the indexes, print the address, and serve until Ctrl-C."""
    served = _options(options)

    from spade_pyserini.serve import server
    from spade_pyserini.serve.service import Service

    listener = server.listen(options.host, options.port)
    if not server.is_loopback(options.host):
        logger.warning(
            "%s can be reached from other machines: their users can read the documents of the "
            "index. The server has no login and no encryption; use a proxy that adds both",
            options.host,
        )
    with listener:
        address = server.address_of(listener, options.host)
        server.run(
            Service(served),
            listener,
            options.host,
            lambda: print(f"serving {options.index} at {address}  (Ctrl-C stops)", flush=True),
            log_requests=options.verbose,
        )
    print("stopped")


def _options(options: argparse.Namespace) -> ServeOptions:
    """Check paths and names before the server starts; return the options of the server."""
    from spade_pyserini.formats.query_side import BOOLEAN
    from spade_pyserini.index.opening import locate
    from spade_pyserini.models.hub import UNTRAINED, resolve_model
    from spade_pyserini.models.systems.recognise import SPADE, check_model, recognise
    from spade_pyserini.serve.limits import Limits, default_threads
    from spade_pyserini.serve.service import ServeOptions

    if options.topics and not options.qrels:
        raise UsageError("--topics applies only with --qrels")
    if not options.topics:
        arguments.refuse_fields(options, arguments.TOPIC_FIELDS, "--topics")
    if not options.qrels:
        arguments.refuse_fields(options, arguments.QRELS_FIELDS, "--qrels")
    if options.model is not None:
        check_model(options.model)
        if options.model != UNTRAINED and recognise(resolve_model(options.model)) != SPADE:
            raise UsageError(f"--model {options.model} is not a SpaDE model; leave out --model")
    index = Path(options.index)
    manifest = locate(index, foreign=bool(options.tokenizer)).manifest
    if manifest.query != BOOLEAN:
        message = (
            f"{index} needs {manifest.query.kind} queries, but the server has only boolean queries"
        )
        raise UsageError(f"{message}; use `spade search`")
    limits = Limits(threads=options.threads or default_threads(), seconds=float(options.timeout))
    return ServeOptions(
        index=index,
        open_texts=_texts_opener(options),
        bm25=Path(options.bm25) if options.bm25 else None,
        tokenizer=options.tokenizer,
        model=options.model,
        counts=_counts(index, manifest),
        judgements=_judgements(options),
        limits=limits,
    )


def _judgements(options: argparse.Namespace) -> Judgements:
    """Read ``--qrels`` and the texts of their topics."""
    from spade_pyserini.corpora.qrels_tables import QrelsColumns
    from spade_pyserini.corpora.topic_tables import TopicColumns
    from spade_pyserini.serve.judgements import read_judgements

    return read_judgements(
        options.qrels,
        options.topics,
        data_dir=options.data_dir,
        topic_columns=TopicColumns(**arguments.fields_of(options, arguments.TOPIC_FIELDS)),
        qrels_columns=QrelsColumns(**arguments.fields_of(options, arguments.QRELS_FIELDS)),
    )


def _counts(index: Path, manifest: IndexManifest) -> Path | None:
    """Return the file of document frequencies for the model, or None if there is no such file."""
    from spade_pyserini.analysis.stats import find_counts

    return find_counts(index, manifest)


def _texts_opener(options: argparse.Namespace) -> Callable[[IndexManifest], Texts]:
    """Return a function that opens ``--corpus`` or, without this option, the manifest's corpus."""
    from spade_pyserini.search.texts import Texts, divided_like, open_texts

    named = arguments.open_corpus(options) if options.corpus else None

    def open_named_or_recorded(manifest: IndexManifest) -> Texts:
        if named is None:
            return open_texts(manifest, data_dir=options.data_dir, keep=True)
        return Texts([divided_like(manifest, named)], keep=True)

    return open_named_or_recorded
