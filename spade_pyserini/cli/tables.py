"""The conditions ``table1`` and ``table2`` of ``spade reproduce``."""

from __future__ import annotations

import argparse
from pathlib import Path

from spade_pyserini.analysis.tables.spec import TABLES
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.paths import safe_file_name


def run_table(options: argparse.Namespace) -> None:
    """Train and measure the systems of a table, except finished ones, and print the table."""
    for flag in ("file", "check_paper"):
        if getattr(options, flag):
            name = flag.replace("_", "-")
            raise UsageError(f"--{name} has no effect on {options.condition}; leave it out")
    table = TABLES[options.condition]
    if options.dry_run:
        for row in table.rows:
            print(row.name, f"recipe {row.recipe}" if row.recipe else "", sep="  ")
        return
    if options.model:
        from spade_pyserini.models.systems.recognise import check_model

        check_model(options.model)

    from spade_pyserini.corpora import open_corpus
    from spade_pyserini.corpora.topics import read_topics

    for collection in table.collections:  # report missing collections before torch is loaded
        open_corpus(collection.corpus, data_dir=options.data_dir)
        read_topics(collection.topics, data_dir=options.data_dir)

    from spade_pyserini.analysis.tables.recipes import STEPS, Budget
    from spade_pyserini.analysis.tables.report import table_lines
    from spade_pyserini.analysis.tables.work import Bench
    from spade_pyserini.train.inputs import check_inputs
    from spade_pyserini.train.recipe import load_recipe

    check_inputs(load_recipe(table.recipe), options.data_dir)
    budget = Budget(options.steps or STEPS, options.seed or 0, options.model)
    start = f".{safe_file_name(options.model)}" if options.model else ""
    folder = Path("runs", f"systems.{budget.steps}-{budget.seed}{start}")
    bench = Bench(table, budget, folder, options.data_dir)
    for line in bench.steps():
        print(line, flush=True)
    print(*table_lines(bench), sep="\n")
    if table.costs:
        from spade_pyserini.analysis.tables.figure import draw_tradeoff

        print(f"\nnDCG@10 against latency: {draw_tradeoff(bench)}")


def list_tables() -> str:
    """Return a line for each table."""
    lines = [f"{name}: {table.title} (--steps N)" for name, table in TABLES.items()]
    return "\n".join(["", *lines])
