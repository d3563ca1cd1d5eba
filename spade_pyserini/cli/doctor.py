"""``spade doctor``: check the installation and say how to repair it."""

from __future__ import annotations

import argparse

from spade_pyserini.cli import arguments
from spade_pyserini.errors import SpadeError


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade doctor``."""
    description = "Check the installation and say how to repair what is wrong."
    return arguments.new_parser("doctor", description, "spade doctor")


def run(options: argparse.Namespace) -> None:
    """Print a line for each check; fail if a check failed."""
    from spade_pyserini.analysis.installation import examine

    findings = examine()
    for what, state, cure in findings:
        print(f"{'ok' if cure is None else 'WRONG':6} {what:13} {state}")
        if cure:
            print(f"{'':6} {'':13} fix: {cure}")
    failed = sum(finding.cure is not None for finding in findings)
    if failed:
        raise SpadeError(f"{failed} of {len(findings)} checks failed")


if __name__ == "__main__":
    import sys

    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("doctor"))
