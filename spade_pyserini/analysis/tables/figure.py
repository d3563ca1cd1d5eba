"""A figure like the paper's Figure 1: effectiveness against latency, a point for each system."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini.analysis.tables.report import compare
from spade_pyserini.analysis.tables.work import Bench
from spade_pyserini.evaluate.measures import aggregate, measure_name
from spade_pyserini.formats.atomic import atomic_write

MEASURE = "nDCG@10"


def draw_tradeoff(bench: Bench) -> Path:
    """Write ``tradeoff.svg`` into the folder of the results; return its path.

    The figure shows nDCG@10 and milliseconds per query on the first collection, searched with
    Lucene. The time to encode queries is not included.
    """
    from matplotlib.figure import Figure

    collection = bench.table.collections[0]
    comparison = compare(bench, collection)
    named = {measure_name(measure): measure for measure in comparison.measures}
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for row in bench.table.rows:
        latency = bench.costs(row, collection).lucene
        measure = named[MEASURE]
        value = aggregate(measure, comparison.values[row.name][measure])
        is_baseline = row.name == bench.table.baseline
        axes.plot(latency, value, "o", color="tab:red" if is_baseline else "tab:blue")
        axes.annotate(row.name, (latency, value), xytext=(4, 4), textcoords="offset points")
    label = f"{MEASURE} on {collection.name}"
    axes.set(xscale="log", xlabel="ms per query (Lucene, one thread, 1,000 hits)", ylabel=label)
    axes.grid(alpha=0.3)
    path = bench.folder / "tradeoff.svg"
    with atomic_write(path) as stream:
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return path
