"""``python -m spade_pyserini.corpora``: the collections that are known by name."""

from __future__ import annotations

from spade_pyserini.cli import command
from spade_pyserini.corpora.catalogue import Collection, catalogue
from spade_pyserini.corpora.data_directory import VARIABLE, resolve_data_dir
from spade_pyserini.formats.tables import text_table

MODULE = "spade_pyserini.corpora"
EXAMPLE = "python -m spade_pyserini.corpora --data-dir ~/data"


def main(arguments: list[str]) -> None:
    parser = command.parser(MODULE, "List the collections that are known by name.", EXAMPLE)
    command.add_data_dir(parser)
    parser.parse_args(arguments)
    rows = [
        [one.name, f"{one.documents:,}", " ".join(one.splits), one.licence, _here(one), one.title]
        for one in catalogue().values()
    ]
    header = ["corpus", "documents", "splits", "licence", "here", "title"]
    print(text_table(header, rows, left=(0, 2, 3, 4, 5)))
    directory = resolve_data_dir(None) or f"--data-dir, or ${VARIABLE}, not set"
    print(
        "\nThe topics and judgements of a split are called corpus/split (scifact/test). Pyserini's"
        "\nand ir_datasets' names do as well, so does any other id of ir_datasets, a folder in"
        "\nBEIR's form (FOLDER, FOLDER/test), and hf:OWNER/DATASET for texts on Hugging Face."
        f"\nLocal copies are looked for in {directory}."
    )


def _here(collection: Collection) -> str:
    if collection.name == "pydoc" or collection.folder():
        return "yes"
    return "ir_datasets"


if __name__ == "__main__":
    command.run(main)
