"""``python -m spade_pyserini.topics``: topics to boolean WordPieces for plain Pyserini."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini.cli import command
from spade_pyserini.errors import UsageError

MODULE = "spade_pyserini.topics"
EXAMPLE = (
    "python -m spade_pyserini.topics --topics pydoc-test --index index/pydoc.spade "
    "--output runs/topics.pydoc-test.wp.tsv"
)


def main(arguments: list[str]) -> None:
    parser = command.parser(MODULE, "Write topics as boolean WordPieces.", EXAMPLE)
    add = parser.add_argument
    add(
        "--topics",
        required=True,
        metavar="NAME|FILE",
        help="a split's name (pydoc/test), or a file: .tsv, .jsonl, .json, .trec, plain or .gz",
    )
    command.add_data_dir(parser)
    add("--output", required=True, metavar="FILE", help="a .tsv, one topic a line")
    add("--index", metavar="DIR", help="take the tokenizer of this index")
    add("--tokenizer", metavar="PATH", help="a tokenizer.json or model folder instead")
    add("--overwrite", action="store_true", help="replace an existing file")
    options = parser.parse_args(arguments)
    command.log_to_stderr(options.verbose)
    if not options.output.endswith((".tsv", ".txt")):
        raise UsageError("--output must end with .tsv: Pyserini goes by the name")
    if bool(options.index) == bool(options.tokenizer):
        raise UsageError("give either --index DIR or --tokenizer PATH")

    from spade_pyserini.corpora.topics import read_topics
    from spade_pyserini.index.tokenizer import index_tokenizer
    from spade_pyserini.models.wordpieces import WordPieces
    from spade_pyserini.search.wordpiece_topics import write_wordpiece_topics

    if options.index:
        wordpieces = index_tokenizer(Path(options.index))
    else:
        wordpieces = WordPieces.load(options.tokenizer)
    topics = read_topics(options.topics)
    write_wordpiece_topics(topics, wordpieces, options.output, options.overwrite)
    print(options.output)


if __name__ == "__main__":
    command.run(main)
