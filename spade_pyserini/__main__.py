"""``python -m spade_pyserini``: the list of commands, and another way to call them."""

import importlib
import sys

from spade_pyserini.cli import command

COMMANDS = """usage: python -m spade_pyserini.COMMAND [--help]

start here:
  demo       the whole road on the built-in corpus, with BM25 next to it
  doctor     what is installed, what is wrong, and the cure
  corpora    the collections that are known by name

the road from documents to a scored run:
  encode     a corpus to impact vectors           encode/<corpus>.<model>/
  index      vectors to a Lucene index            index/<corpus>.<model>/
  search     topics or a query on an index        runs/run.<corpus>.<model>.<topics>.txt
  evaluate   runs against relevance judgements, with significance

models and texts:
  train      the dual encoder, by a recipe
  expand     predicted queries for documents (docT5query), by a seq2seq model

other runs, to compare and combine with:
  dense      a dense model's run, through FAISS
  rerank     a run re-ranked by a cross-encoder
  fuse       several runs into one

for other engines:
  export     an index for CIFF, PISA, OpenSearch or Milvus

looking closer:
  breakdown  measures by how many terms topics and answers share
  compare    two runs, topic by topic
  stats      what is in an index, in figures
  explain    why a document is found, and which terms it was given
  sweep      effectiveness, latency and size over alpha, gamma and k
  report     all about some runs as one HTML page
  reproduce  known figures, by the commands that gave them

with plain Pyserini:
  topics     topics as WordPieces
  pyserini   any Pyserini module, on the Java that is found"""
NAMES = [line.split()[0] for line in COMMANDS.splitlines() if line.startswith("  ")]


def main(arguments: list[str]) -> None:
    if not arguments or arguments[0] in ("-h", "--help"):
        print(COMMANDS)
    elif arguments[0] in NAMES:
        sys.argv = arguments
        command.run(importlib.import_module(f"spade_pyserini.cli.{arguments[0]}").main)
    else:
        print(f"error: no command is called {arguments[0]!r}\n\n{COMMANDS}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main(sys.argv[1:])
