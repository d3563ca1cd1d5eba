"""``python -m spade_pyserini.evaluate`` is ``spade evaluate``."""

from spade_pyserini.cli import command, evaluate

if __name__ == "__main__":
    command.run(evaluate.main)
