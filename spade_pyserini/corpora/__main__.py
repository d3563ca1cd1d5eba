"""``python -m spade_pyserini.corpora`` is ``spade corpora``."""

from spade_pyserini.cli import command, corpora

if __name__ == "__main__":
    command.run(corpora.main)
