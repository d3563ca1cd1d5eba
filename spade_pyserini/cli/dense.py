"""``spade dense``: retrieve with a dense bi-encoder, by exact search with FAISS."""

from __future__ import annotations

import argparse
from pathlib import Path

from spade_pyserini.cli import arguments
from spade_pyserini.formats.outputs import refuse_existing
from spade_pyserini.formats.paths import model_title, safe_file_name
from spade_pyserini.models.minilm import MINILM

EXAMPLE = "spade dense --corpus pydoc --topics pydoc/test --model minilm"


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade dense``."""
    description = "Embed a corpus with a dense bi-encoder and search it exactly with FAISS."
    parser = arguments.new_parser("dense", description, EXAMPLE)
    add = parser.add_argument
    arguments.add_corpus(parser, required=True)
    arguments.add_topics(parser, required=True)
    add("--model", default=MINILM, metavar="NAME|DIR", help="minilm, a Hugging Face name or folder")
    add("--index", metavar="DIR", help="folder of embeddings (default: index/CORPUS.MODEL.dense)")
    add(
        "--output", metavar="FILE", help="the run (default: runs/run.CORPUS.MODEL-dense.TOPICS.txt)"
    )
    add("--hits", type=arguments.positive, default=1000, metavar="N", help="hits per topic")
    add(
        "--overwrite",
        action="store_true",
        help="replace an existing run; also replace embeddings in the folder if they belong to "
        "another corpus or model",
    )
    arguments.add_data_dir(parser)
    return parser


def run(options: argparse.Namespace) -> None:
    """Embed the corpus, search the topics, write the run and print its path."""
    from spade_pyserini.corpora.topics import topics_name
    from spade_pyserini.models.hub import check_hugging_face

    data_dir = options.data_dir
    corpus = arguments.open_corpus(options)
    topics = arguments.read_topics(options)
    model = safe_file_name(model_title(options.model))
    index = options.index or Path("index", f"{corpus.name}.{model}.dense")
    topics_part = safe_file_name(topics_name(options.topics, data_dir=data_dir))
    name = f"run.{corpus.name}.{model}-dense.{topics_part}.txt"
    output = Path(options.output or Path("runs", name))
    refuse_existing(output, options.overwrite)
    check_hugging_face("bi-encoder", options.model)

    from spade_pyserini.baselines.dense import dense_search, encode_dense
    from spade_pyserini.search import write_run

    encode_dense(corpus, options.model, index, overwrite=options.overwrite)
    rankings = dense_search(index, topics, options.hits)
    write_run(rankings, output, f"{model}-dense", options.overwrite)
    print(output)


if __name__ == "__main__":
    import sys

    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("dense"))
