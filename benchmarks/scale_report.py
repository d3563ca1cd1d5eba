"""Make the tables that ``scale.py`` prints: results, and the disk space that is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

BUILDS = ("direct", "anserini", "bm25", "pisa", "pisa-bm25")
ENGINES = ("lucene", "pisa-maxscore", "pisa-bmw", "bm25-lucene", "bm25-pisa")
# Estimated bytes per posting in compressed vectors, in a Lucene index, in a PISA index (with its
# uncompressed postings), and in the temporary files that PISA writes while it builds its index.
# (Lucene needs twice the size of its index while it merges segments, which is less than PISA's
# peak.)
VECTORS, INDEX, PISA, PISA_BUILD = 5.7, 2.2, 11.2, 8.0
TEXTS = 1000.0  # bytes per document: compressed text, its copy for Anserini, and BM25 indexes


def table(results: dict[str, dict[str, Any]]) -> str:
    """Return the results as Markdown tables."""
    lines = [
        "| documents | index | seconds | microseconds per document | peak memory, MB | size, MB "
        "| bytes per posting |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for size, steps in results.items():
        for name in BUILDS:
            if step := steps.get(name):
                lines.append(_build_row(int(size), name, step, steps))
    lines += [
        "",
        "Latency in milliseconds: mean, p50, p95, p99.",
        "",
        "| documents | engine | first open, s | open, s | first answer, ms | 10 hits | 1,000 hits "
        "| queries/s, 2 threads, 10 hits | 1,000 hits |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for size, steps in results.items():
        for engine in ENGINES:
            names = [f"{name}:{engine}" for name in ("open", "latency", "throughput")]
            if all(name in steps for name in names):
                lines.append(_engine_row(int(size), engine, [steps[name] for name in names]))
    return "\n".join(lines)


def _build_row(size: int, name: str, step: dict[str, Any], steps: dict[str, Any]) -> str:
    postings = step.get("postings") or steps["direct" if name == "pisa" else "bm25"]["postings"]
    kept = step.get("searched_bytes", step["bytes"])
    cells = [
        f"{size:,}",
        name,
        f"{step['seconds']:,.1f}",
        f"{1e6 * step['seconds'] / size:,.0f}",
        f"{step['peak_mb']:,.0f}",
        f"{kept / 1e6:,.1f}",
        f"{kept / postings:.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def _engine_row(size: int, engine: str, steps: list[dict[str, Any]]) -> str:
    opened, latency, throughput = steps
    times = [
        ", ".join(f"{latency[hits][name]:.2f}" for name in ("mean", "p50", "p95", "p99"))
        for hits in ("10", "1000")
    ]
    cells = [
        f"{size:,}",
        engine,
        f"{opened['open_first']:.2f}",
        f"{opened['open']:.2f}",
        f"{1000 * opened['answer']:.1f}",
        *times,
        f"{throughput['10']:,.0f}",
        f"{throughput['1000']:,.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def plan(vectors: Path, sizes: list[int]) -> str:
    """Return the disk space that each size needs, in GB."""
    from spade_pyserini.formats.vector_manifest import VectorManifest

    terms = VectorManifest.load(vectors).terms_per_document
    lines = [
        f"GB of disk, at {terms:.0f} terms per document; the peak is reached while PISA builds",
        f"{'documents':>10} {'vectors':>8} {'texts':>8} {'Lucene':>8} {'PISA':>8} {'peak':>8}",
    ]
    for size in sizes:
        postings = size * terms / 1e9
        parts = [VECTORS * postings, TEXTS * size / 1e9, INDEX * postings, PISA * postings]
        peak = sum(parts) + PISA_BUILD * postings
        shown = " ".join(f"{part:8.1f}" for part in [*parts, peak])
        lines.append(f"{size:>10,} {shown}")
    return "\n".join(lines)
