"""``python -m spade_pyserini``: the list of commands."""

COMMANDS = """usage: python -m spade_pyserini.COMMAND [--help]

the road from documents to a scored run:
  encode     a corpus to impact vectors           encode/<corpus>.<model>/
  index      vectors to a Lucene index            index/<corpus>.<model>/
  search     topics or a query on an index        runs/run.<corpus>.<model>.<topics>.txt
  evaluate   runs against relevance judgements

beside it:
  demo       the whole road on the built-in corpus, with BM25 next to it
  topics     topics as WordPieces, for plain Pyserini
  pyserini   any Pyserini module, on the Java that is found
  doctor     what is installed, what is wrong, and the cure"""

if __name__ == "__main__":
    print(COMMANDS)
