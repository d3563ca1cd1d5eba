"""The tables as text: our results with significance marks, and the results in the paper."""

from __future__ import annotations

from collections.abc import Iterator

from spade_pyserini.analysis.tables.spec import Collection
from spade_pyserini.analysis.tables.work import Bench
from spade_pyserini.corpora.qrels import read_qrels, relevance_level
from spade_pyserini.evaluate import parse_measures
from spade_pyserini.evaluate.comparison import Comparison, compare_runs
from spade_pyserini.evaluate.significance import MARK
from spade_pyserini.formats.runs import read_run
from spade_pyserini.formats.tables import text_table

NONE = "-"


def table_lines(bench: Bench) -> Iterator[str]:
    """Yield a table for each collection, a table of costs, and a table with the paper's results."""
    table, budget = bench.table, bench.budget
    yield f"{table.title}, {budget.steps} steps, seed {budget.seed}"
    for collection in table.collections:
        yield ""
        yield _title(bench, collection)
        yield _figures(bench, collection)
    if table.costs:
        first = table.collections[0]
        yield ""
        yield f"Costs on {first.name}; ms per query, without the encoding of queries"
        yield _costs(bench, first)
    yield ""
    yield "The results in the paper, which uses BERT-base and MS MARCO"
    yield _paper(bench)
    yield ""
    yield f"{MARK} differs from {table.baseline}: paired t-test, p < 0.05, Bonferroni's correction."


def _title(bench: Bench, collection: Collection) -> str:
    documents = bench.costs(bench.table.rows[0], collection).documents
    pool = f" (judged relevant, or among BM25's first {collection.pool})" if collection.pool else ""
    return f"{collection.name}: {documents:,} documents{pool}, {collection.judgements}"


def compare(bench: Bench, collection: Collection) -> Comparison:
    """Evaluate the runs of all rows on a collection; test the differences from the baseline."""
    return compare_runs(
        read_qrels(collection.judgements, data_dir=bench.data_dir),
        {row.name: read_run(bench.run(row, collection)) for row in bench.table.rows},
        parse_measures(list(bench.table.measures)),
        baseline=bench.table.baseline,
        level=relevance_level(collection.judgements, data_dir=bench.data_dir),
        strict=False,
    )


def _figures(bench: Bench, collection: Collection) -> str:
    comparison = compare(bench, collection)
    return text_table(["system", *comparison.header()[1:]], comparison.rows())


def _costs(bench: Bench, collection: Collection) -> str:
    rows = []
    for row in bench.table.rows:
        costs = bench.costs(row, collection)
        pisa = NONE if costs.pisa is None else f"{costs.pisa:.2f}"
        sizes = [f"{costs.terms:.1f}", f"{costs.megabytes:.2f}"]
        rows.append([row.name, *sizes, f"{costs.lucene:.2f}", pisa])
    return text_table(["system", "terms", "index MB", "ms, Lucene", "ms, PISA"], rows)


def _paper(bench: Bench) -> str:
    columns, rows = bench.table.columns, []
    for row in bench.table.rows:
        figures = bench.table.paper.get(row.name, ())
        shown = [_shown(figure, column) for figure, column in zip(figures, columns, strict=False)]
        rows.append([row.name, *shown, *[NONE] * (len(columns) - len(shown))])
    return text_table(["system", *columns], rows)


def _shown(figure: float, column: str) -> str:
    return f"{figure:,g}" if column in ("ms", "GB") else f"{figure:.3f}"
