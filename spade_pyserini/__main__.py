"""``python -m spade_pyserini`` is the same as ``spade``."""

import sys

from spade_pyserini.cli.main import main

if __name__ == "__main__":
    sys.exit(main(prog="python -m spade_pyserini"))
