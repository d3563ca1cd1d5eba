"""``spade export``: export an impact index to another engine."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from spade_pyserini.cli import arguments
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.paths import safe_file_name

EXAMPLE = """spade export --index index/pydoc.spade-mini --to ciff --output pydoc.ciff
  spade export --index index/pydoc.spade-mini --to milvus --uri pydoc.db"""
ENGINES = ("ciff", "pisa", "opensearch", "milvus")


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade export``."""
    parser = arguments.new_parser("export", "Export an impact index to another engine.", EXAMPLE)
    add = parser.add_argument
    add("--index", metavar="DIR", help="an impact index of `spade index`")
    add("--input", metavar="DIR", help="impact vectors instead, indexed in a temporary folder")
    add("--to", required=True, choices=ENGINES, help="the engine or format")
    add("--output", metavar="PATH", help="file or folder (default: index/NAME.ENGINE)")
    add(
        "--field",
        choices=("rank_features", "sparse_vector"),
        default="rank_features",
        help="opensearch: type of the field",
    )
    add(
        "--tokenizer",
        metavar="NAME|PATH",
        help="pisa, milvus: tokenizer for an index that was built without one",
    )
    add("--uri", help="milvus: a file for the embedded engine, or the address of a cluster")
    add("--token", default="", help="milvus: user:password, or an API key")
    add("--collection", metavar="NAME", help="milvus: name of the collection (default: the index)")
    add("--overwrite", action="store_true", help="replace an existing output")
    return parser


def run(options: argparse.Namespace) -> None:
    """Export the index, or an index built from vectors, and print what was written."""
    if bool(options.index) == bool(options.input):
        raise UsageError("give either --index DIR or --input DIR")
    if (options.to == "milvus") != bool(options.uri):
        raise UsageError(
            "--to milvus needs --uri, a file or the address of a cluster; other engines take none"
        )
    if options.tokenizer and options.to not in ("pisa", "milvus"):
        raise UsageError("--tokenizer applies only with --to pisa and --to milvus")
    if options.index:
        _export(Path(options.index), options)
        return
    from spade_pyserini.index import build_impact_index

    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder, Path(options.input).resolve().name)
        build_impact_index(options.input, index)
        _export(index, options)


def _export(index: Path, options: argparse.Namespace) -> None:
    name, overwrite = index.resolve().name, options.overwrite
    output = Path(options.output or Path("index", f"{name}.{options.to}"))
    if options.to == "ciff":
        from spade_pyserini.export.ciff import write_ciff

        write_ciff(index, output, description=name, overwrite=overwrite)
        print(output)
    elif options.to == "pisa":
        from spade_pyserini.export.pisa import write_pisa

        write_pisa(index, output, options.tokenizer, overwrite=overwrite)
        print(output)
    elif options.to == "opensearch":
        from spade_pyserini.export.opensearch import write_bulk

        print(*write_bulk(index, output, options.field, overwrite=overwrite), sep="\n")
    else:
        from spade_pyserini.export.milvus import write_milvus

        collection = options.collection or safe_file_name(name).replace("-", "_").replace(".", "_")
        write_milvus(
            index,
            options.uri,
            collection,
            options.tokenizer,
            token=options.token,
            overwrite=overwrite,
        )
        print(f"{options.uri} {collection}")
