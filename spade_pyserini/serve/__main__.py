"""``python -m spade_pyserini.serve`` is the same as ``spade serve``."""

import sys

from spade_pyserini.cli.main import main_of_module

if __name__ == "__main__":
    sys.exit(main_of_module("serve"))
