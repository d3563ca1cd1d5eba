"""``spade reproduce``: run the commands behind published results and check the results."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from spade_pyserini.analysis.conditions import CONDITIONS, Condition, Expected, read_conditions
from spade_pyserini.analysis.reproduce import (
    ANY_MODEL,
    SEED,
    CheckedFigure,
    check_collection,
    check_figures,
    command_lines,
    run_command,
    with_seed,
)
from spade_pyserini.analysis.tables.spec import TABLES
from spade_pyserini.cli import arguments, registry
from spade_pyserini.cli.flags import flag_names
from spade_pyserini.cli.tables import list_tables, run_table
from spade_pyserini.errors import SpadeError, UsageError
from spade_pyserini.formats.tables import text_table

EXAMPLE = """spade reproduce --list
  spade reproduce --condition bm25-pydoc
  spade reproduce --condition table1 --steps 100 --data-dir DIR"""

MODEL_HELP = (
    f"model that replaces {ANY_MODEL} in the commands of a condition; with table1 or table2, the "
    "SpaDE model from which the training of all systems starts"
)


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade reproduce``."""
    description = (
        "Run the commands of a condition (an experiment with a name) and compare the measures of "
        "its runs with the published values."
    )
    parser = arguments.new_parser("reproduce", description, EXAMPLE)
    add = parser.add_argument
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument(
        "--list", action="store_true", help="print all conditions and expected values"
    )
    action.add_argument("--condition", metavar="NAME", help="run the commands of this condition")
    add(
        "--dry-run",
        action="store_true",
        help="print the commands, or the systems and recipes of a table, without running them",
    )
    add("--model", metavar="NAME|PATH", help=MODEL_HELP)
    add("--seed", type=int, metavar="N", help=f"value of {SEED} in the commands (default: 0)")
    add("--steps", type=arguments.positive, metavar="N", help="for a table: steps of each training")
    add("--check-paper", action="store_true", help="also fail if a value differs from the paper's")
    add("--file", metavar="FILE", help="YAML file of conditions (default: those of this package)")
    arguments.add_data_dir(parser)
    return parser


def run(options: argparse.Namespace) -> None:
    """Print all conditions, or run one condition and compare its measured and expected values."""
    if options.condition in TABLES:
        run_table(options)
        return
    if options.steps is not None:
        raise UsageError(f"--steps applies only with --condition {' or '.join(TABLES)}")
    conditions = read_conditions(Path(options.file or CONDITIONS), registry.SUMMARIES)
    if options.list:
        print(_listing(conditions))
        if options.file is None:
            print(list_tables())
        return
    condition = _chosen(conditions, options)
    lines = command_lines(condition, options.model)
    if not options.dry_run and any(ANY_MODEL in line for line in lines):
        raise UsageError(f"the commands contain {ANY_MODEL}: give a trained model with --model")
    if not options.dry_run:
        check_collection(condition, options.data_dir)
    print(condition.title)
    if condition.published:
        print(condition.published)
    for line in lines:
        words = _with_data_dir(line, options.data_dir)
        print(f"\n$ spade {shlex.join(words)}", flush=True)
        if not options.dry_run:
            run_command(words)
    if not options.dry_run:
        _report(list(check_figures(condition, options.data_dir)), options.check_paper)


def _chosen(conditions: dict[str, Condition], options: argparse.Namespace) -> Condition:
    """Return the condition that ``--condition`` names, with the seed of ``--seed``."""
    if options.condition not in conditions:
        raise UsageError(f"there is no condition {options.condition!r}; --list prints all names")
    condition = conditions[options.condition]
    if options.seed is not None and not any(SEED in command for command in condition.commands):
        raise UsageError(f"no command of {condition.name} has a seed; leave out --seed")
    if options.model and not any(ANY_MODEL in command for command in condition.commands):
        raise UsageError(f"{condition.name} uses the model {condition.model}; leave out --model")
    return with_seed(condition, options.seed or 0)


def _with_data_dir(words: list[str], data_dir: Path | None) -> list[str]:
    """Return a command line, with ``--data-dir`` added if the command has this option."""
    if data_dir is None or "data_dir" not in flag_names(registry.load(words[0]).parser()):
        return words
    return [*words, "--data-dir", str(data_dir)]


def _listing(conditions: dict[str, Condition]) -> str:
    """Return a table with a row for each run; only the first row of a condition has its name."""
    rows = []
    for condition in conditions.values():
        names = [condition.name, condition.collection]
        for expected in condition.expected:
            run = Path(expected.run).name
            rows.append([*names, run, expected.qrels, _figures(expected), expected.source])
            names = ["", ""]
    header = ["condition", "collection", "run", "judgements", "values", "source"]
    return text_table(header, rows, left=(0, 1, 2, 3, 4, 5))


def _figures(expected: Expected) -> str:
    return "  ".join(f"{name} {figure:g}" for name, figure in expected.measures.items())


def _report(figures: list[CheckedFigure], check_paper: bool) -> None:
    """Print each measured value next to the expected value; raise an error if a value differs.

    Without ``check_paper``, a difference from a value of the paper is not an error.
    """
    failed = 0
    rows = []
    for figure in figures:
        binding = check_paper or figure.expected.source == "measured"
        failed += binding and not figure.agrees
        verdict = "ok" if figure.agrees else "DIFFERS" if binding else "not checked"
        rows.append(
            [
                figure.expected.qrels,
                figure.measure,
                f"{figure.expected.measures[figure.measure]:.4f}",
                f"{figure.measured:.4f}",
                figure.expected.source,
                verdict,
            ]
        )
    header = ["judgements", "measure", "expected", "measured", "source", ""]
    print(f"\n{text_table(header, rows, left=(0, 1, 4, 5))}")
    if failed:
        raise SpadeError(f"{failed} of {len(figures)} values differ from the expected ones")


if __name__ == "__main__":
    import sys

    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("reproduce"))
