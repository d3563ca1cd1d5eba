"""``python -m spade_pyserini.reproduce``: known figures, by the commands that gave them."""

from __future__ import annotations

import shlex
from pathlib import Path

from spade_pyserini.__main__ import NAMES
from spade_pyserini.analysis.reproduce import (
    ANY_MODEL,
    FILE,
    SEED,
    Checked,
    Condition,
    Expected,
    check_figures,
    command_lines,
    read_conditions,
    run_command,
    with_seed,
)
from spade_pyserini.cli import command
from spade_pyserini.errors import NotFoundError, SpadeError, UsageError
from spade_pyserini.formats.tables import text_table

MODULE = "spade_pyserini.reproduce"
EXAMPLE = """python -m spade_pyserini.reproduce --list
  python -m spade_pyserini.reproduce --condition bm25-pydoc"""


def main(arguments: list[str]) -> None:
    parser = command.parser(MODULE, "Run the commands of a condition, check its figures.", EXAMPLE)
    add = parser.add_argument
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--list", action="store_true", help="show all conditions and their figures")
    what.add_argument("--condition", metavar="NAME", help="run the commands of this one")
    add("--dry-run", action="store_true", help="show the commands only")
    add("--model", metavar="NAME|PATH", help=f"the model, where the commands say {ANY_MODEL}")
    add("--seed", type=int, help=f"of training, where the commands say {SEED} (default: 0)")
    add("--check-paper", action="store_true", help="the paper's figures have to be met, too")
    add("--file", default=FILE, help="the conditions")
    command.add_data_dir(parser)
    options = parser.parse_args(arguments)
    command.log_to_stderr(options.verbose)
    if not Path(options.file).is_file():
        message = "no such file; name one with --file, or run this in the project's folder"
        raise NotFoundError(f"{options.file}: {message}")
    conditions = read_conditions(Path(options.file), NAMES)
    if options.list:
        print(_listing(conditions))
        return
    if options.condition not in conditions:
        raise UsageError(f"{options.file} has no condition {options.condition!r}; see --list")
    condition = conditions[options.condition]
    if options.seed is not None and not any(SEED in command for command in condition.commands):
        raise UsageError(f"{condition.name} trains nothing, or with a seed of its own")
    if options.model and not any(ANY_MODEL in command for command in condition.commands):
        raise UsageError(f"{condition.name} has a model of its own, {condition.model}")
    condition = with_seed(condition, options.seed or 0)
    lines = command_lines(condition, options.model)
    if not options.dry_run and any(ANY_MODEL in line for line in lines):
        raise UsageError(f"the commands say {ANY_MODEL}: name a trained model with --model")
    print(condition.title)
    if condition.published:
        print(condition.published)
    for words in lines:
        print(f"\n$ python -m {shlex.join(words)}", flush=True)
        if not options.dry_run:
            run_command(words)
    if not options.dry_run:
        _report(list(check_figures(condition)), options.check_paper)


def _listing(conditions: dict[str, Condition]) -> str:
    rows = [
        [condition.name, condition.collection, one.qrels, _figures(one), one.source]
        for condition in conditions.values()
        for one in condition.expected
    ]
    header = ["condition", "collection", "judgements", "figures", "source"]
    return text_table(header, rows, left=(0, 1, 2, 3, 4))


def _figures(expected: Expected) -> str:
    return "  ".join(f"{name} {figure:g}" for name, figure in expected.measures.items())


def _report(checked: list[Checked], check_paper: bool) -> None:
    """Show every figure beside the one it should be, and fail if one of ours is not."""
    wrong = 0
    rows = []
    for one in checked:
        binding = check_paper or one.expected.source == "measured"
        wrong += binding and not one.agrees
        verdict = "ok" if one.agrees else "DIFFERS" if binding else "not checked"
        wanted = f"{one.expected.measures[one.measure]:.4f}"
        judged = [one.expected.qrels, one.measure]
        rows.append([*judged, wanted, f"{one.found:.4f}", one.expected.source, verdict])
    header = ["judgements", "measure", "expected", "found", "source", ""]
    print(f"\n{text_table(header, rows, left=(0, 1, 4, 5))}")
    if wrong:
        raise SpadeError(f"{wrong} of {len(checked)} figures differ from what is expected")


if __name__ == "__main__":
    command.run(main)
