"""``python -m spade_pyserini.doctor``: what is here, what is wrong, and the cure."""

from __future__ import annotations

from spade_pyserini.analysis.installation import examine
from spade_pyserini.cli import command
from spade_pyserini.errors import SpadeError

MODULE = "spade_pyserini.doctor"


def main(arguments: list[str]) -> None:
    parser = command.parser(MODULE, "Look at what the road needs.", f"python -m {MODULE}")
    command.log_to_stderr(parser.parse_args(arguments).verbose)
    findings = examine()
    for what, found, cure in findings:
        print(f"{'ok' if cure is None else 'WRONG':6} {what:13} {found}")
        if cure:
            print(f"{'':6} {'':13} cure: {cure}")
    wrong = sum(finding.cure is not None for finding in findings)
    if wrong:
        raise SpadeError(f"{wrong} of {len(findings)} checks failed")


if __name__ == "__main__":
    command.run(main)
