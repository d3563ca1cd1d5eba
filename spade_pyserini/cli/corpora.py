"""``spade corpora``: list the collections that commands accept by name."""

from __future__ import annotations

import argparse
from pathlib import Path

from spade_pyserini.cli import arguments

EXAMPLE = "spade corpora --data-dir ~/data"
NAMES = """
A split has topics and judgements and is called CORPUS/SPLIT, as in scifact/test. The names that
Pyserini and ir_datasets use for these collections work as well. You can also give any other id of
ir_datasets, a folder in BEIR format (FOLDER for the documents, FOLDER/test for a split), or
hf:OWNER/DATASET for texts on Hugging Face."""


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade corpora``."""
    description = "List the collections that commands accept by name."
    parser = arguments.new_parser("corpora", description, EXAMPLE)
    arguments.add_data_dir(parser)
    return parser


def run(options: argparse.Namespace) -> None:
    """Print the known collections, those in the data directory, and which names are accepted."""
    from spade_pyserini.corpora.catalogue import catalogue
    from spade_pyserini.corpora.data_directory import VARIABLE, local_collections, resolve_data_dir
    from spade_pyserini.formats.tables import text_table

    folder = resolve_data_dir(options.data_dir)
    others = local_collections(options.data_dir)
    rows = []
    for collection in catalogue().values():
        local = collection.folder(options.data_dir)
        if local:
            others.pop(local.name, None)
        here = "built in" if collection.name == "pydoc" else "yes" if local else "ir_datasets"
        documents, splits = f"{collection.documents:,}", " ".join(collection.splits)
        rows.append(
            [collection.name, documents, splits, collection.licence, here, collection.title]
        )
    rows += [[name, "", _splits(path), "", "yes", ""] for name, path in others.items()]
    header = ["corpus", "documents", "splits", "licence", "local copy", "title"]
    print(text_table(header, rows, left=(0, 2, 3, 4, 5)))
    print(NAMES)
    if folder:
        print(f"Local copies are read from {folder}.")
    else:
        print(f"Neither --data-dir nor ${VARIABLE} names a folder with local copies.")


def _splits(folder: Path) -> str:
    """Return the names of the splits of a folder in BEIR format."""
    return " ".join(sorted(path.stem for path in folder.glob("qrels/*.tsv")))
