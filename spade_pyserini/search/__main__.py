"""``python -m spade_pyserini.search`` is ``spade search``."""

from spade_pyserini.cli import command, search

if __name__ == "__main__":
    command.run(search.main)
