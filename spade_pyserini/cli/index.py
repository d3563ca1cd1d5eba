"""``python -m spade_pyserini.index``: impact vectors, or a corpus for BM25, to a Lucene index."""

from __future__ import annotations

import argparse
from pathlib import Path

from spade_pyserini.cli import command
from spade_pyserini.errors import UsageError

MODULE = "spade_pyserini.index"
EXAMPLE = """python -m spade_pyserini.index --input encode/pydoc.spade --output index/pydoc.spade
  python -m spade_pyserini.index --input encode/pydoc.spade --verify
  python -m spade_pyserini.index --input encode/more.spade --add --output index/pydoc.spade
  python -m spade_pyserini.index --bm25 --corpus pydoc --output index/pydoc.bm25"""
MODES = ("bm25", "foreign", "verify", "add", "delete")


def _parser() -> argparse.ArgumentParser:
    parser = command.parser(MODULE, "Build a Lucene index, check it, or change it.", EXAMPLE)
    add = parser.add_argument
    add("--input", metavar="DIR", help="folder of impact vectors, from spade_pyserini.encode")
    add("--output", metavar="DIR", help="folder for the index (default: index/NAME)")
    add(
        "--builder",
        choices=("direct", "anserini"),
        help="direct: impacts as term frequencies (default); anserini: the reference, "
        "IndexCollection through Pyserini",
    )
    add("--threads", type=command.threads, default=2, metavar="N", help="indexing threads")
    add("--optimize", action="store_true", help="merge all segments into one")
    add(
        "--reorder",
        action="store_true",
        help="documents that share terms beside each other: smaller, needs memory for all vectors",
    )
    add("--overwrite", action="store_true", help="replace an existing index")
    other = parser.add_argument_group("vectors of another tool's making")
    other.add_argument("--foreign", action="store_true", help="check every line of --input first")
    other.add_argument("--tokenizer", metavar="NAME|PATH", help="theirs; terms are checked by it")
    there = parser.add_argument_group("an index that is there")
    there.add_argument(
        "--verify",
        action="store_true",
        help="Lucene's CheckIndex, and with --input a comparison with the vectors",
    )
    there.add_argument("--add", action="store_true", help="add or replace the documents in --input")
    there.add_argument("--delete", nargs="+", metavar="ID", help="delete documents")
    text = parser.add_argument_group("BM25, for comparison")
    text.add_argument("--bm25", action="store_true", help="index the text of --corpus for BM25")
    text.add_argument("--corpus", metavar="NAME|PATH", help="as for spade_pyserini.encode")
    text.add_argument("--corpus-path", metavar="PATH", help="read the corpus from this place")
    command.add_data_dir(parser)
    text.add_argument("--expansions", metavar="FILE", help="as for spade_pyserini.encode")
    text.add_argument(
        "--expansions-per-doc", type=command.positive, metavar="N", help="so many of each document"
    )
    text.add_argument(
        "--pool", nargs="+", metavar="RUN[:N]|QRELS", help="as for spade_pyserini.encode"
    )
    text.add_argument("--segment", metavar="WORDS:STRIDE", help="as for spade_pyserini.encode")
    return parser


def main(arguments: list[str]) -> None:
    options = _parser().parse_args(arguments)
    command.log_to_stderr(options.verbose)
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
        print(_bm25(options))
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
    if sum(bool(getattr(options, mode)) for mode in MODES) > 1:
        raise UsageError("choose one of --bm25, --foreign, --verify, --add and --delete")
    if options.bm25 != bool(options.corpus):
        raise UsageError("give either --input DIR, or --bm25 --corpus NAME|PATH")
    no_vectors = options.bm25 or options.delete or (options.verify and options.output)
    if (options.input and (options.bm25 or options.delete)) or not (options.input or no_vectors):
        raise UsageError("give either --input DIR, or --bm25 --corpus NAME|PATH")
    if (options.add or options.delete) and not options.output:
        raise UsageError("--add and --delete need --output DIR: the index to change")
    if options.builder and options.bm25:
        raise UsageError("--builder goes with building an impact index")
    if options.verify or options.add or options.delete:
        for name in ("builder", "optimize", "overwrite"):
            if getattr(options, name):
                raise UsageError(f"--{name} goes with building an index")
    if options.reorder and any(getattr(options, mode) for mode in MODES):
        raise UsageError("--reorder goes with building an index of --input DIR")
    if options.tokenizer and not options.foreign:
        raise UsageError("--tokenizer goes with --foreign")
    for name in ("corpus_path", "segment", "expansions", "expansions_per_doc", "pool"):
        if getattr(options, name) and not options.corpus:
            raise UsageError(f"--{name.replace('_', '-')} goes with --bm25 --corpus NAME")


def _bm25(options: argparse.Namespace) -> Path:
    from spade_pyserini.index import build_bm25_index

    corpus = command.chosen_corpus(options)
    output = Path(options.output or Path("index", f"{corpus.name}.bm25"))
    build_bm25_index(
        corpus,
        output,
        threads=options.threads,
        optimize=options.optimize,
        overwrite=options.overwrite,
    )
    return output


if __name__ == "__main__":
    command.run(main)
