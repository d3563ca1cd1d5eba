"""What all commands share: parsing, one-line errors, exit codes, log lines and progress bars."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from spade_pyserini.corpora.data_directory import VARIABLE
from spade_pyserini.errors import SpadeError

if TYPE_CHECKING:
    from spade_pyserini.corpora import Corpus


def parser(module: str, description: str, example: str) -> argparse.ArgumentParser:
    """A parser for ``python -m module`` whose ``--help`` ends with an example."""
    made = argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=description,
        epilog=f"example:\n  {example}",
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    made.add_argument("--verbose", action="store_true", help="say more")
    return made


class _Formatter(argparse.RawDescriptionHelpFormatter, argparse.ArgumentDefaultsHelpFormatter):
    """Keeps the example's lines, shows the defaults that say something."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default in (None, False, argparse.SUPPRESS) or action.required:
            return action.help
        return super()._get_help_string(action)


def add_data_dir(made: argparse.ArgumentParser) -> None:
    """``--data-dir``, the same as the variable that it stands for."""
    made.add_argument(
        "--data-dir", action=_SetDataDir, metavar="DIR", help=f"local collections (${VARIABLE})"
    )


def add_judged(
    made: argparse.ArgumentParser, default: str = "MRR@10 nDCG@10 MAP R@100 R@1000"
) -> None:
    """Flags of all commands that score runs; `judgements` reads what they name."""
    add = made.add_argument
    add(
        "--qrels", required=True, metavar="NAME|FILE", help="a split's name, or TREC's, BEIR's form"
    )
    add(
        "--measure",
        "-m",
        nargs="+",
        metavar="NAME",
        help=f"ir_measures' or trec_eval's names (default: {default})",
    )
    add(
        "--relevance-level",
        type=positive,
        metavar="N",
        help="lowest relevant grade in binary measures (default: 2 for TREC DL passages, else 1)",
    )
    add_data_dir(made)


def chosen_corpus(options: argparse.Namespace) -> Corpus:
    """The corpus that the flags of `encode` and of `index --bm25` name, as they want it."""
    from spade_pyserini.corpora import apply_transforms, open_corpus

    return apply_transforms(
        open_corpus(options.corpus, options.corpus_path),
        options.segment,
        options.expansions,
        options.expansions_per_doc,
        options.pool,
    )


def judgements(options: argparse.Namespace) -> tuple[dict[str, dict[str, int]], int]:
    """The judgements, and the lowest grade that is relevant."""
    from spade_pyserini.corpora.qrels import read_qrels, relevance_level

    level = options.relevance_level or relevance_level(options.qrels)
    return read_qrels(options.qrels), level


class _SetDataDir(argparse.Action):
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        if not os.path.isdir(str(values)):  # noqa: PTH112
            parser.error(f"--data-dir {values}: no such folder")
        os.environ[VARIABLE] = str(values)


def positive(text: str) -> int:
    """Argument type: a whole number, 1 or more."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return value


def whole_number(least: int, most: int) -> Callable[[str], int]:
    """Argument type: a whole number within these bounds."""

    def convert(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text} is not from {least} to {most}")
        return value

    convert.__name__ = "whole number"
    return convert


threads = whole_number(1, 1024)


def run(main: Callable[[list[str]], None]) -> NoReturn:
    """Run a command: errors of the user's become one line and an exit code."""
    try:
        main(sys.argv[1:])
    except SpadeError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("interrupted; run the same command again to go on", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:  # permissions, names too long, a file where a folder should be
        where = f"{error.filename}: " if error.filename else ""
        print(f"error: {where}{error.strerror or error}", file=sys.stderr)
        sys.exit(1)
    sys.exit(0)


def log_to_stderr(verbose: bool) -> None:
    """Show our own log lines on stderr; other libraries' only with ``--verbose``."""
    logging.basicConfig(format="%(message)s", level=logging.INFO if verbose else logging.WARNING)
    logging.getLogger("spade_pyserini").setLevel(logging.DEBUG if verbose else logging.INFO)
