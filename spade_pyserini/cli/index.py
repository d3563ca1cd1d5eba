"""``spade index``: build a Lucene index from impact vectors, or from texts for BM25."""

from __future__ import annotations

import argparse
from pathlib import Path

from spade_pyserini.cli import arguments
from spade_pyserini.errors import UsageError

EXAMPLE = """spade index --input encode/pydoc.spade-mini --output index/pydoc.spade-mini
  spade index --input encode/pydoc.spade-mini --verify
  spade index --input encode/my-new.spade-mini --add --output index/pydoc.spade-mini
  spade index --bm25 --corpus pydoc --output index/pydoc.bm25"""
MODES = ("bm25", "foreign", "verify", "add", "delete")
TRANSFORMS = (
    *arguments.FIELDS,
    "corpus_path",
    "segment",
    "expansions",
    "expansions_per_doc",
    "pool",
)


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade index``."""
    parser = arguments.new_parser("index", "Build, verify or change a Lucene index.", EXAMPLE)
    add = parser.add_argument
    add("--input", metavar="DIR", help="folder of impact vectors, written by `spade encode`")
    add("--output", metavar="DIR", help="folder for the index (default: index/NAME)")
    add(
        "--builder",
        choices=("direct", "anserini"),
        help="direct: write impacts as term frequencies (default); "
        "anserini: run Anserini's IndexCollection, the reference implementation",
    )
    add("--threads", type=arguments.threads, default=2, metavar="N", help="indexing threads")
    add("--optimize", action="store_true", help="merge all segments into one")
    add(
        "--reorder",
        action="store_true",
        help="store similar documents next to each other; the index gets smaller, but all vectors "
        "must fit in memory",
    )
    add("--overwrite", action="store_true", help="replace an existing index")
    pruning = parser.add_argument_group(
        "static pruning: the index gets smaller and faster, but the scores get less exact"
    )
    pruning.add_argument(
        "--keep",
        type=float,
        metavar="SHARE",
        help="for each document, index only the largest impacts, until their sum reaches this "
        "share of the sum of all impacts (such as 0.9; default: 1, which keeps all)",
    )
    pruning.add_argument(
        "--prune-ratio",
        type=float,
        metavar="R",
        help="leave out impacts below R times the largest impact of their document (default: 0)",
    )
    foreign = parser.add_argument_group("vectors of another tool")
    foreign.add_argument(
        "--foreign",
        action="store_true",
        help="another tool wrote the vectors of --input; check every line",
    )
    foreign.add_argument(
        "--tokenizer",
        metavar="NAME|PATH",
        help="tokenizer of the vectors: all terms must be in its vocabulary, and searches use it",
    )
    existing = parser.add_argument_group("an existing index")
    existing.add_argument(
        "--verify",
        action="store_true",
        help="run Lucene's CheckIndex; with --input, also compare the index with the vectors",
    )
    existing.add_argument(
        "--add",
        action="store_true",
        help="add the documents of --input; they replace documents with the same ids",
    )
    existing.add_argument("--delete", nargs="+", metavar="ID", help="delete documents by id")
    bm25 = parser.add_argument_group("BM25, for comparison")
    bm25.add_argument("--bm25", action="store_true", help="index the text of --corpus for BM25")
    arguments.add_corpus(bm25)
    arguments.add_corpus_transforms(bm25)
    arguments.add_data_dir(parser)
    return parser


def run(options: argparse.Namespace) -> None:
    """Build, verify or change the index and print its folder."""
    _check(options)

    from spade_pyserini.index import (
        IndexOptions,
        add_documents,
        build_foreign_index,
        build_impact_index,
        delete_documents,
        verify_index,
    )

    if options.bm25:
        print(_build_bm25(options))
        return
    source = Path(options.input) if options.input else None
    output = Path(options.output or Path("index", source.resolve().name if source else ""))
    settings = IndexOptions(
        builder=options.builder or "direct",
        threads=options.threads,
        optimize=options.optimize,
        reorder=options.reorder,
        keep=1.0 if options.keep is None else options.keep,
        prune_ratio=options.prune_ratio or 0.0,
    )
    if options.verify:
        verify_index(output, source)
    elif options.delete:
        delete_documents(output, options.delete)
    elif options.add:
        add_documents(options.input, output, threads=options.threads)
    elif options.foreign:
        build_foreign_index(
            options.input, output, options.tokenizer, settings, overwrite=options.overwrite
        )
    else:
        build_impact_index(options.input, output, settings, overwrite=options.overwrite)
    print(output)


def _check(options: argparse.Namespace) -> None:
    """Refuse options that contradict each other."""
    if sum(bool(getattr(options, mode)) for mode in MODES) > 1:
        raise UsageError("choose one of --bm25, --foreign, --verify, --add and --delete")
    if options.bm25 != bool(options.corpus):
        raise UsageError("give either --input DIR, or --bm25 --corpus NAME|PATH")
    if options.input and (options.bm25 or options.delete):
        raise UsageError(
            f"--input cannot be combined with {'--bm25' if options.bm25 else '--delete'}"
        )
    if options.add and not options.input:
        raise UsageError("--add needs --input DIR, the vectors to add")
    if options.verify and not (options.input or options.output):
        raise UsageError("--verify needs the index (--output DIR) or its vectors (--input DIR)")
    if not (options.input or options.bm25 or options.delete or options.verify):
        raise UsageError("give either --input DIR, or --bm25 --corpus NAME|PATH")
    if (options.add or options.delete) and not options.output:
        raise UsageError("--add and --delete need --output DIR, the index to change")
    if options.builder and options.bm25:
        raise UsageError("--builder applies only when an impact index is built")
    if options.verify or options.add or options.delete:
        for name in ("builder", "optimize", "overwrite"):
            if getattr(options, name):
                raise UsageError(f"--{name} applies only when an index is built")
    if options.reorder and any(getattr(options, mode) for mode in MODES):
        raise UsageError(
            "--reorder does not apply with --bm25, --foreign, --verify, --add or --delete"
        )
    for name in ("keep", "prune_ratio"):
        if getattr(options, name) is None:
            continue
        if any(getattr(options, mode) for mode in MODES if mode != "foreign"):
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} applies only when an impact index is built")
    if options.tokenizer and not options.foreign:
        raise UsageError("--tokenizer applies only with --foreign")
    for name in TRANSFORMS:
        if getattr(options, name) not in (None, []) and not options.corpus:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} applies only with --bm25 --corpus NAME|PATH")


def _build_bm25(options: argparse.Namespace) -> Path:
    from spade_pyserini.index import build_bm25_index

    corpus = arguments.open_transformed(options)
    output = Path(options.output or Path("index", f"{corpus.name}.bm25"))
    build_bm25_index(
        corpus,
        output,
        threads=options.threads,
        optimize=options.optimize,
        overwrite=options.overwrite,
    )
    return output
