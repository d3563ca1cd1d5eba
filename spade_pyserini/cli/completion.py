"""``spade completion``: print a script that completes commands and options in a shell."""

from __future__ import annotations

import argparse

from spade_pyserini.cli import arguments, registry

EXAMPLE = """eval "$(spade completion bash)"                             # in ~/.bashrc
  spade completion zsh > ~/.zsh/completions/_spade             # a folder of $fpath"""
SHELLS = ("bash", "zsh")


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade completion``."""
    description = "Print a completion script for commands, options, choices, files and folders."
    parser = arguments.new_parser("completion", description, EXAMPLE)
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads the script")
    return parser


def run(options: argparse.Namespace) -> None:
    """Print the script."""
    import shtab

    print(shtab.complete(complete_parser(), options.shell))


def complete_parser() -> argparse.ArgumentParser:
    """Build one parser for ``spade`` that holds the parsers of all commands."""
    import shtab

    parser = argparse.ArgumentParser(prog="spade")
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers()
    for name, summary in registry.SUMMARIES.items():
        source = registry.load(name).parser()
        for action in source._actions:
            kind = _completion(action)
            if kind and not action.choices:
                action.complete = getattr(shtab, kind)  # type: ignore[attr-defined]
        commands.add_parser(
            name,
            parents=[source],
            add_help=False,
            help=" ".join(summary.split()),
            conflict_handler="resolve",
        )
    return parser


def _completion(action: argparse.Action) -> str | None:
    """Return what shtab suggests as the value of an option, according to its metavar."""
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    kinds = set(metavar.split("|"))
    if kinds == {"DIR"}:
        return "DIRECTORY"
    return "FILE" if kinds & {"FILE", "PATH", "DIR", "RUN", "FIGURE", "RUN[:N]"} else None
