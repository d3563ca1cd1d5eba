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
        "anserini: run Anserini's IndexCollection, the reference",
    )
    add("--threads", type=arguments.threads, default=2, metavar="N", help="indexing threads")
    add("--optimize", action="store_true", help="merge all segments into one")
    add(
        "--reorder",
        action="store_true",
        help="store documents with common terms next to each other: a smaller index, but all "
        "vectors must fit in memory",
    )
    add("--overwrite", action="store_true", help="replace an existing index")
    foreign = parser.add_argument_group("vectors of another tool")
    foreign.add_argument(
        "--foreign",
        action="store_true",
        help="--input was written by another tool; check every line before indexing",
    )
    foreign.add_argument(
        "--tokenizer", metavar="NAME|PATH", help="tokenizer of these vectors, to check the terms"
    )
    existing = parser.add_argument_group("an existing index")
    existing.add_argument(
        "--verify",
        action="store_true",
        help="run Lucene's CheckIndex; with --input, also compare the index with the vectors",
    )
    existing.add_argument(
        "--add", action="store_true", help="add or replace the documents of --input"
    )
    existing.add_argument("--delete", nargs="+", metavar="ID", help="delete documents")
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
    no_vectors = options.bm25 or options.delete or (options.verify and options.output)
    if (options.input and (options.bm25 or options.delete)) or not (options.input or no_vectors):
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
        raise UsageError("--reorder applies only when an index of --input DIR is built")
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
