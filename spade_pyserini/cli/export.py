"""``spade export``: export an impact index to another engine."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from spade_pyserini.cli import arguments
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.paths import safe_file_name, sibling

if TYPE_CHECKING:
    from spade_pyserini.corpora import Corpus
    from spade_pyserini.export.readme import Export

EXAMPLE = """spade export --index index/pydoc.spade-mini --to opensearch --with-text
  spade export --index index/pydoc.spade-mini --to ciff --output pydoc.ciff
  spade export --index index/pydoc.spade-mini --to milvus --uri pydoc.db"""
ENGINES = ("ciff", "pisa", "opensearch", "milvus", "qdrant", "seismic", "bmp")
TOKENIZED = ("pisa", "milvus", "qdrant", "seismic", "bmp")  # engines that need a tokenizer
FOLDERS = ("qdrant", "seismic", "bmp")
FIELD = "rank_features"
CORPUS_HELP = (
    "opensearch: corpus with the texts (default: the corpus that the index was built from)"
)


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade export``."""
    description = (
        "Export an impact index to another engine. A README next to the output shows how to load "
        "and search the export in that engine."
    )
    parser = arguments.new_parser("export", description, EXAMPLE)
    add = parser.add_argument
    add("--index", metavar="DIR", help="an impact index of `spade index`")
    add("--input", metavar="DIR", help="folder of impact vectors, instead of --index")
    add("--to", required=True, choices=ENGINES, help="the engine or format")
    add("--output", metavar="PATH", help="file or folder to write (default: index/NAME.ENGINE)")
    add(
        "--field",
        choices=(FIELD, "sparse_vector"),
        help=f"opensearch: type of the field with the impacts (default: {FIELD})",
    )
    add("--with-text", action="store_true", help="opensearch: also write titles and texts")
    arguments.add_corpus(parser, summary=CORPUS_HELP)
    arguments.add_data_dir(parser)
    add(
        "--tokenizer",
        metavar="NAME|PATH",
        help=f"{', '.join(TOKENIZED)}: tokenizer for an index that was built without one",
    )
    add("--uri", help="milvus: a file for the embedded engine, or the address of a cluster")
    add("--token", default="", help="milvus: user:password, or an API key")
    add(
        "--collection",
        metavar="NAME",
        help="milvus: name of the collection (default: the name of the index, in which _ replaces "
        "- and .)",
    )
    add("--overwrite", action="store_true", help="replace an existing output")
    return parser


def run(options: argparse.Namespace) -> None:
    """Export ``--index``, or a temporary index of ``--input``, and print the output paths."""
    _check(options)
    if options.index:
        _export(Path(options.index), options)
        return
    from spade_pyserini.index import build_impact_index

    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder, Path(options.input).resolve().name)
        build_impact_index(options.input, index)
        _export(index, options)


def _check(options: argparse.Namespace) -> None:
    """Raise `UsageError` if options do not fit together."""
    if bool(options.index) == bool(options.input):
        raise UsageError("give either --index DIR or --input DIR")
    if (options.to == "milvus") != bool(options.uri):
        raise UsageError(
            "--to milvus needs --uri, a file or the address of a cluster; leave out --uri for "
            "other engines"
        )
    if options.tokenizer and options.to not in TOKENIZED:
        raise UsageError(f"--tokenizer applies only with --to {', '.join(TOKENIZED)}")
    if options.to != "opensearch" and (options.with_text or options.field):
        raise UsageError("--with-text and --field apply only with --to opensearch")
    if options.to != "milvus" and (options.token or options.collection):
        raise UsageError("--token and --collection apply only with --to milvus")
    if options.to == "milvus" and options.output:
        raise UsageError("--output does not apply with --to milvus; --uri is the output")
    if options.corpus and not options.with_text:
        raise UsageError("--corpus applies only with --with-text")


def _export(index: Path, options: argparse.Namespace) -> None:
    from spade_pyserini.export.readme import Export, collection_name, readme_of

    name = index.resolve().name
    output = Path(options.output or Path("index", f"{name}.{options.to}"))
    collection = collection_name(name)
    if options.to == "milvus":
        collection = options.collection or safe_file_name(name).replace("-", "_").replace(".", "_")
        # A database file can hold several collections, so each has its own README next to the file.
        if "://" not in options.uri:
            output = sibling(Path(options.uri), collection)
    export = Export(
        engine=options.to,
        index=index,
        output=output,
        tokenizer=options.tokenizer,
        collection=collection,
        uri=options.uri or "",
        field=options.field or FIELD,
        with_text=options.with_text,
    )
    # write_milvus checks whether the collection exists.
    with readme_of(export, overwrite=options.overwrite or options.to == "milvus") as readme:
        written = _write(export, options)
    print(readme, *written, sep="\n")


def _write(export: Export, options: argparse.Namespace) -> list[Path | str]:
    """Write the export; return the paths to print (for Milvus, the URI and the collection)."""
    index, output, overwrite = export.index, export.output, options.overwrite
    if options.to == "ciff":
        from spade_pyserini.export.ciff import write_ciff

        write_ciff(index, output, description=index.resolve().name, overwrite=overwrite)
    elif options.to == "pisa":
        from spade_pyserini.export.pisa import write_pisa

        write_pisa(index, output, options.tokenizer, overwrite=overwrite)
    elif options.to == "opensearch":
        from spade_pyserini.export.opensearch import BulkOptions, write_bulk

        corpora = _corpora(index, options) if options.with_text else ()
        bulk = BulkOptions(options.field or FIELD, corpora)
        return [*write_bulk(index, output, bulk, overwrite=overwrite)]
    elif options.to in FOLDERS:
        _folder_writer(options.to)(index, output, options.tokenizer, overwrite=overwrite)
    else:
        from spade_pyserini.export.milvus import write_milvus

        uri, collection, token = options.uri, export.collection, options.token
        write_milvus(index, uri, collection, options.tokenizer, token=token, overwrite=overwrite)
        return [f"{uri} {collection}"]
    return [output]


def _folder_writer(engine: str) -> Callable[..., int]:
    """Import the function that writes the export of an engine."""
    module = import_module(f"spade_pyserini.export.{engine}")
    writer: Callable[..., int] = getattr(module, f"write_{engine}")
    return writer


def _corpora(index: Path, options: argparse.Namespace) -> list[Corpus]:
    """Return the corpora with the texts: ``--corpus``, or the corpora in the manifest."""
    from spade_pyserini.errors import NotFoundError
    from spade_pyserini.index.describe import describe_impact_index
    from spade_pyserini.search.texts import divided_like, remembered_corpora

    manifest = describe_impact_index(index)
    if options.corpus:
        return [divided_like(manifest, arguments.open_corpus(options))]
    try:
        return remembered_corpora(manifest, data_dir=options.data_dir)
    except NotFoundError as error:
        raise NotFoundError(f"{error}; name the corpus of the texts with --corpus") from None
