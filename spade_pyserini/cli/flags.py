"""Translate parameters in the library's messages to the flags of a command.

The library names parameters in call syntax, because most of its callers are programs. Someone who
typed a command reads ``--overwrite`` where the library says ``overwrite=True``.
"""

from __future__ import annotations

import argparse
import re

# A parameter follows a space, a bracket or a backtick, or starts the message. Paths such as
# /data/k=5 and quoted text of the user stay.
PARAMETER = re.compile(
    r"""(?<![^\s(`])(\w+)=('[^']*'|"[^"]*"|\.\.\.|[^\s,;:()`'"]*[^\s,;:()`'".])"""
)


def flag_names(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Flag by parameter name: ``{"data_dir": "--data-dir", ...}``."""
    return {
        action.dest: next(text for text in action.option_strings if text.startswith("--"))
        for action in parser._actions
        if action.option_strings and action.dest != "help"
    }


def with_flags(message: str, flags: dict[str, str]) -> str:
    """Rewrite ``name=True`` as ``--name`` and ``name=VALUE`` as ``--name VALUE``.

    Other names stay, unless the command has ``--set KEY=VALUE`` for the settings of a recipe: then
    ``name=VALUE`` becomes ``--set name=VALUE``.
    """

    def rewrite(match: re.Match[str]) -> str:
        name, value = match.groups()
        if name not in flags:
            return f"{flags['set']} {match.group()}" if "set" in flags else match.group()
        return flags[name] if value == "True" else f"{flags[name]} {value}"

    return PARAMETER.sub(rewrite, message)
