"""``python -m spade_pyserini.export`` is ``spade export``."""

from spade_pyserini.cli import command, export

if __name__ == "__main__":
    command.run(export.main)
