"""``python -m spade_pyserini.index`` is ``spade index``."""

from spade_pyserini.cli import command, index

if __name__ == "__main__":
    command.run(index.main)
