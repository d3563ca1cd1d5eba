"""``python -m spade_pyserini.dense``: a run of a dense bi-encoder, exact, through FAISS."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spade_pyserini.cli import command
from spade_pyserini.formats.files import (
    refuse_existing,
    safe_file_name,
)
from spade_pyserini.models.minilm import MINILM

if TYPE_CHECKING:
    pass

from spade_pyserini.baselines.dense import dense_search, encode_dense

MODULE = "spade_pyserini.dense"
EXAMPLE = "python -m spade_pyserini.dense --corpus pydoc --topics pydoc/test --model minilm"


def main(arguments: list[str]) -> None:
    parser = command.parser(MODULE, "Embed a corpus, search it exactly with FAISS.", EXAMPLE)
    add = parser.add_argument
    add("--corpus", required=True, metavar="NAME|PATH", help="a name, or a folder or file")
    add("--topics", required=True, metavar="NAME|FILE", help="a split's name, or a file")
    add("--model", default=MINILM, metavar="NAME|DIR", help="minilm, a hub name or a folder")
    add("--index", metavar="DIR", help="the embeddings (default: index/CORPUS.MODEL.dense)")
    add("--output", metavar="FILE", help="default: runs/run.CORPUS.MODEL-dense.TOPICS.txt")
    add("--hits", type=command.positive, default=1000, metavar="N", help="hits per topic")
    add("--overwrite", action="store_true", help="replace a run, and embeddings of other things")
    command.add_data_dir(parser)
    options = parser.parse_args(arguments)
    command.log_to_stderr(options.verbose)

    from spade_pyserini.corpora import open_corpus
    from spade_pyserini.corpora.topics import read_topics, topics_name
    from spade_pyserini.search import write_run

    corpus, topics = open_corpus(options.corpus), read_topics(options.topics)
    model = safe_file_name(Path(options.model).name)
    index = options.index or Path("index", f"{corpus.name}.{model}.dense")
    name = f"run.{corpus.name}.{model}-dense.{safe_file_name(topics_name(options.topics))}.txt"
    output = Path(options.output or Path("runs", name))
    refuse_existing(output, options.overwrite)
    encode_dense(corpus, options.model, index, overwrite=options.overwrite)
    rankings = dense_search(index, topics, options.hits)
    write_run(rankings, output, f"{model}-dense", options.overwrite)
    print(output)


if __name__ == "__main__":
    command.run(main)
