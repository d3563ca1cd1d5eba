"""``python -m spade_pyserini.train`` is ``spade train``."""

from spade_pyserini.cli import command, train

if __name__ == "__main__":
    command.run(train.main)
