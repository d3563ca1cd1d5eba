"""Translate parameter names in the library's messages to the flags of a command.

The library names parameters in call syntax, because most of its callers are programs. A user of the
command line reads ``--overwrite`` where the library says ``overwrite=True``.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Mapping

from spade_pyserini.cli.arguments import QRELS_FIELDS, TOPIC_FIELDS

# Matches the metavar of a flag whose value is a name or a path.
NAMED = re.compile(r"NAME|PATH|FILE|DIR|RUN|QRELS")
# A parameter follows a space, a bracket or a backtick, or starts the message. Paths such as
# /data/k=5 and quoted user input do not match.
PARAMETER = re.compile(
    r"""(?<![^\s(`])(\w+)=('[^']*'|"[^"]*"|\.\.\.|[^\s,;:()`'"]*[^\s,;:()`'".])"""
)


def flag_names(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Return the flag of each parameter: ``{"data_dir": "--data-dir", ...}``."""
    return {
        action.dest: next(text for text in action.option_strings if text.startswith("--"))
        for action in parser._actions
        if action.option_strings and action.dest != "help"
    }


def empty_names(parser: argparse.ArgumentParser, options: argparse.Namespace) -> list[str]:
    """Return the flags that need a name or a path, but have an empty value.

    This is always a mistake, such as ``--model "$MODEL"`` with a shell variable that is not set.
    """
    named = (action for action in parser._actions if NAMED.search(str(action.metavar)))
    return [
        flag_names(parser).get(action.dest, str(action.metavar))
        for action in named
        if "" in _values(getattr(options, action.dest, None))
    ]


def _values(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def command_line(
    parser: argparse.ArgumentParser, options: argparse.Namespace, changes: Mapping[str, object]
) -> str:
    """Return the command that has these options, with ``changes`` by parameter, for a shell.

    Options with their default value are left out.
    """
    values = {**vars(options), **changes}
    flags, words = flag_names(parser), parser.prog.split()
    for action in parser._actions:
        value = values.get(action.dest)
        if action.dest not in flags or value == action.default:
            continue
        words.append(flags[action.dest])
        if value is not True:
            words += [str(word) for word in _values(value)]
    return shlex.join(words)


def with_flags(message: str, flags: dict[str, str]) -> str:
    """Rewrite ``name=True`` as ``--name`` and ``name=VALUE`` as ``--name VALUE``.

    A name without a flag is usually left unchanged. If the command has ``--set KEY=VALUE`` for the
    settings of a recipe, however, ``name=VALUE`` becomes ``--set name=VALUE``. Parameters that name
    columns of topics and judgements are not settings, so they are left unchanged.
    """

    def rewrite(match: re.Match[str]) -> str:
        name, value = match.groups()
        if name not in flags:
            is_setting = "set" in flags and name not in {*TOPIC_FIELDS, *QRELS_FIELDS}
            return f"{flags['set']} {match.group()}" if is_setting else match.group()
        return flags[name] if value == "True" else f"{flags[name]} {value}"

    return PARAMETER.sub(rewrite, message)
