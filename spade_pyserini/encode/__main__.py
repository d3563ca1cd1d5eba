"""``python -m spade_pyserini.encode`` is ``spade encode``."""

from spade_pyserini.cli import command, encode

if __name__ == "__main__":
    command.run(encode.main)
