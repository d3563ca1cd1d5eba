"""``spade``: find the command, run it, and report an error as one line and an exit code.

The exit code is 0 for success, 1 if the command failed, 2 if the arguments are wrong, and 130 if
the user interrupted the command.
"""

from __future__ import annotations

import difflib
import io
import logging
import os
import sys
from typing import Any

from spade_pyserini import __version__
from spade_pyserini.cli import registry
from spade_pyserini.cli.flags import empty_names, flag_names, with_flags
from spade_pyserini.errors import SpadeError, is_out_of_memory
from spade_pyserini.formats.atomic import FULL, is_full
from spade_pyserini.memory_limit import limit_is_too_low

NO_MEMORY = (
    "there is not enough memory; choose smaller sizes (batch, model), close other programs, "
    "or raise the memory limit of this program (ulimit -v)"
)


def main(arguments: list[str] | None = None, prog: str = "spade") -> int:
    """Run ``spade`` with ``arguments``, by default those of this process; return the exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    escape_unprintable()
    if not words or words[0] in ("-h", "--help"):
        print(registry.overview(prog))
        return 0
    if words[0] in ("-V", "--version"):
        print(f"spade {__version__}")
        return 0
    name, *rest = words
    if name not in registry.SUMMARIES:
        close = difflib.get_close_matches(name, registry.SUMMARIES, 1)
        hint = f"did you mean {close[0]}? " if close else ""
        message = f"error: there is no command {name!r}; {hint}`{prog} --help` lists the commands"
        print(message, file=sys.stderr)
        return 2
    return run_command(name, rest, f"{prog} {name}")


def main_of_module(name: str) -> int:
    """Run a command that was called as ``python -m spade_pyserini.NAME``."""
    escape_unprintable()
    return run_command(name, sys.argv[1:], f"python -m spade_pyserini.{name}")


def run_command(name: str, arguments: list[str], prog: str) -> int:
    """Run a command and return its exit code. Print one line for an error that a user can fix."""
    command = registry.load(name)
    parser = command.parser()
    parser.prog = prog
    options = parser.parse_args(arguments)
    if empty := empty_names(parser, options):
        print(f"error: {empty[0]} is empty; give a value, or leave it out", file=sys.stderr)
        return 2
    flags = flag_names(parser)
    log_to_stderr(options.verbose, flags)
    if limit_is_too_low():
        print(f"error: {NO_MEMORY}", file=sys.stderr)
        return 1
    try:
        os.getcwd()  # noqa: PTH109 - only the error is needed, not a Path
    except FileNotFoundError:
        print("error: the current folder was deleted; change to another one", file=sys.stderr)
        return 1
    try:
        command.run(options)
        sys.stdout.flush()
    except SpadeError as error:
        if is_out_of_memory(error):
            print(f"error: {NO_MEMORY}", file=sys.stderr)
            return 1
        print(f"error: {with_flags(str(error), flags)}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted; run the same command again to continue", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the program that reads our output, such as head, has exited
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # permissions, a full disk, a file where a folder should be
        where = f"{error.filename}: " if error.filename else ""
        reason = FULL if is_full(error) else error.strerror or error
        print(f"error: {where}{reason}", file=sys.stderr)
        return 1
    except Exception as error:
        if is_out_of_memory(error):
            print(f"error: {NO_MEMORY}", file=sys.stderr)
            return 1
        if sys.flags.optimize < 2:
            raise
        cure = "use python -O, or unset PYTHONOPTIMIZE"
        print(
            f"error: transformers needs docstrings, which python -OO removes; {cure}",
            file=sys.stderr,
        )
        return 1
    return 0


def escape_unprintable() -> None:
    """Print a character that is not in the terminal's encoding as an escape such as ``\\xe9``."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def call(name: str, arguments: list[str]) -> None:
    """Run a command from within another command; its exceptions are not caught."""
    command = registry.load(name)
    command.run(command.parser().parse_args(arguments))


class Once(logging.Filter):
    """Drops a message about a corpus if the same message was logged before.

    A command may open a corpus several times, and opening a corpus logs messages.
    """

    def __init__(self) -> None:
        super().__init__("spade_pyserini.corpora")
        self._shown: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is new, or is not about a corpus."""
        if not super().filter(record):
            return True
        message = record.getMessage()
        is_new = message not in self._shown
        self._shown.add(message)
        return is_new


class WithFlags(logging.Formatter):
    """Formats messages; parameter names in messages of this package become flags."""

    def __init__(self, flags: dict[str, str]) -> None:
        super().__init__("%(message)s")
        self._flags = flags

    def format(self, record: logging.LogRecord) -> str:
        """Return the message of a record."""
        message = super().format(record)
        own = record.name.startswith("spade_pyserini")
        return with_flags(message, self._flags) if own else message


class OwnLines(logging.StreamHandler[Any]):
    """Writes each message on a line of its own, above a progress bar that is on the terminal."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a message; on a terminal, the progress bars are removed and shown again."""
        bars = getattr(sys.modules.get("tqdm"), "tqdm", None)
        if bars is None or not self.stream.isatty():
            super().emit(record)
            return
        with bars.external_write_mode(file=self.stream):
            super().emit(record)


def log_to_stderr(verbose: bool, flags: dict[str, str] | None = None) -> None:
    """Log to stderr. Without ``verbose``, other libraries log only warnings and errors.

    ``flags`` are the flags of the command, by parameter name.
    """
    handler = OwnLines()
    handler.addFilter(Once())
    handler.setFormatter(WithFlags(flags or {}))
    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(level=level, handlers=[handler])
    logging.getLogger("spade_pyserini").setLevel(logging.DEBUG if verbose else logging.INFO)
