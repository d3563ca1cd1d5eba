"""``python -m spade_pyserini.index``: impact vectors, or a corpus for BM25, to a Lucene index."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini import cli
from spade_pyserini.errors import UsageError

MODULE = "spade_pyserini.index"
EXAMPLE = """python -m spade_pyserini.index --input encode/pydoc.spade --output index/pydoc.spade
  python -m spade_pyserini.index --bm25 --corpus pydoc --output index/pydoc.bm25"""


def main(arguments: list[str]) -> None:
    parser = cli.parser(MODULE, "Build a Lucene index, and check it.", EXAMPLE)
    add = parser.add_argument
    add("--input", metavar="DIR", help="folder of impact vectors, from spade_pyserini.encode")
    add("--bm25", action="store_true", help="index the text of --corpus for BM25 instead")
    add("--corpus", metavar="NAME|PATH", help="with --bm25: as for spade_pyserini.encode")
    add("--corpus-path", metavar="PATH", help="read the corpus called NAME from this place")
    cli.add_data_dir(parser)
    add("--expansions", metavar="FILE", help="with --bm25: as for spade_pyserini.encode")
    add("--expansions-per-doc", type=cli.positive, metavar="N", help="so many of each document")
    add("--segment", metavar="WORDS:STRIDE", help="with --bm25: as for spade_pyserini.encode")
    add(
        "--builder",
        choices=("direct", "anserini"),
        help="direct: impacts as term frequencies (default); anserini: the reference, "
        "IndexCollection through Pyserini",
    )
    add("--output", metavar="DIR", help="folder for the index (default: index/NAME)")
    add("--threads", type=cli.threads, default=2, metavar="N", help="indexing threads")
    add("--optimize", action="store_true", help="merge all segments into one")
    add("--overwrite", action="store_true", help="replace an existing index")
    options = parser.parse_args(arguments)
    cli.log_to_stderr(options.verbose)
    if options.bm25 == bool(options.input) or options.bm25 != bool(options.corpus):
        raise UsageError("give either --input DIR, or --bm25 --corpus NAME|PATH")
    if options.bm25 and options.builder == "direct":
        raise UsageError("BM25 indexes are Anserini's; --builder direct goes with --input DIR")
    for name in ("corpus_path", "segment", "expansions"):
        if getattr(options, name) and not options.corpus:
            raise UsageError(f"--{name.replace('_', '-')} goes with --bm25 --corpus NAME")

    from spade_pyserini.corpora import open_corpus, prepared
    from spade_pyserini.index import build_bm25_index, build_impact_index

    settings = {key: getattr(options, key) for key in ("threads", "optimize", "overwrite")}
    if options.bm25:
        corpus = prepared(
            open_corpus(options.corpus, options.corpus_path),
            options.segment,
            options.expansions,
            options.expansions_per_doc,
        )
        output = Path(options.output or Path("index", f"{corpus.name}.bm25"))
        build_bm25_index(corpus, output, **settings)
    else:
        source = Path(options.input)
        output = Path(options.output or Path("index", source.resolve().name))
        build_impact_index(source, output, builder=options.builder or "direct", **settings)
    print(output)


if __name__ == "__main__":
    cli.run(main)
