r"""Measure effectiveness and latency of BM25, spade-mini and a dense model on the same topics.

    make demo
    spade dense --corpus pydoc --topics pydoc/test
    python benchmarks/tradeoff.py --json docs/figures/tradeoff.json \
        --output docs/figures/tradeoff.svg

For another collection, set ``--data``, ``--bm25``, ``--impact``, ``--dense`` and ``--note``. If the
file of ``--json`` exists, its measurements are shown and nothing is measured.

Each system runs in a process of its own with one thread. It answers all topics twice as a warm-up,
then each topic ``--repeat`` times, one query at a time. The measured call takes a text and returns
document ids and scores in Python. For the dense model, the call includes the encoding of the query;
the search is exact (FAISS, IndexFlatIP). nDCG@10 is computed from the hits of the last repetition.

The figure has two panels: these measurements, and those of the paper (Table 1 and Figure 1 of Choi
et al.). The panels cannot be compared, because collection, measure, engine and machine differ.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, median
from time import perf_counter
from typing import Any

Search = Callable[[str, int], list[Any]]
WARM_UP = 2
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "TOKENIZERS_PARALLELISM")

# The paper's Table 1: model, milliseconds per query, MRR@10 on MS MARCO dev, kind, label offset.
PAPER = [
    ("BM25", 14, 0.187, "bm25", (8, -3)),
    ("DeepCT", 12, 0.246, "document", (8, -3)),
    ("docT5query", 18, 0.276, "document", (8, -3)),
    ("DeepImpact", 24, 0.327, "document", (-8, -13)),
    ("TILDEv2", 31, 0.333, "document", (8, -9)),
    ("SPLADE-doc", 108, 0.325, "document", (-2, -14)),
    ("uniCOIL", 64, 0.352, "query", (8, -3)),
    ("SPLADE-max", 412, 0.340, "query", (-20, -14)),
    ("DistilSPLADE-max", 1606, 0.369, "query", (-84, 7)),
    ("SpaDE k=2", 29, 0.348, "spade", (-63, -6)),
    ("k=5", 36, 0.355, "spade", (-14, 7)),
    ("k=10", 49, 0.352, "spade", (-4, 7)),
]
COLORS = {"bm25": "#6b7280", "document": "#2563eb", "query": "#b45309", "spade": "#c81e4a"}
KINDS = {
    "bm25": "BM25",
    "document": "only documents are encoded",
    "query": "queries are encoded, too",
    "spade": "SpaDE (only documents)",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--data", default="pydoc/test", metavar="SPLIT", help="topics and judgements")
    add("--bm25", default="index/pydoc.bm25", metavar="DIR", help="a BM25 index")
    add("--impact", default="index/pydoc.spade-mini", metavar="DIR", help="an impact index")
    add(
        "--dense",
        default="index/pydoc.minilm.dense",
        metavar="DIR",
        help="embeddings of `spade dense`",
    )
    add("--hits", type=int, nargs="+", default=[10, 1000])
    add("--repeat", type=int, default=5)
    add(
        "--note",
        default="pydoc, 4,878 documents",
        help="description of the collection in the figure",
    )
    add("--json", metavar="FILE", help="file of measurements: read if it exists, otherwise written")
    add("--output", metavar="SVG", help="draw the figure to this file")
    add("--system", choices=sorted(SYSTEMS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.system:
        print(json.dumps(measure(options)))
        return
    if options.json and Path(options.json).exists():
        rows = json.loads(Path(options.json).read_text())
    else:
        rows = [row for name in SYSTEMS for row in run(name)]
    show(rows)
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    if options.output:
        draw(rows, options.note, Path(options.output))


def run(system: str) -> list[dict[str, Any]]:
    """Measure one system in a new process, with one thread."""
    environment = {**os.environ, **dict.fromkeys(THREADS, "1"), "TOKENIZERS_PARALLELISM": "false"}
    command = [sys.executable, __file__, *sys.argv[1:], "--system", system]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    rows: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return rows


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure a system in this process; return a row of results for each number of hits."""
    from ir_measures import nDCG

    from spade_pyserini import Hit, Ranking, evaluate_run, read_qrels, read_topics

    topics, qrels = read_topics(options.data), read_qrels(options.data)
    topics = [topic for topic in topics if topic.qid in qrels]
    search = SYSTEMS[options.system](getattr(options, options.system))
    rows = []
    for hits in options.hits:
        for _ in range(WARM_UP):
            for topic in topics:
                search(topic.text, hits)
        seconds, rankings = [], []
        for _ in range(options.repeat):
            rankings = []
            for topic in topics:
                start = perf_counter()
                results = search(topic.text, hits)
                seconds.append(perf_counter() - start)
                rankings.append(Ranking(topic.qid, [Hit(*hit) for hit in results]))
        seconds.sort()
        (ndcg,) = evaluate_run(qrels, rankings, [nDCG @ 10]).values()
        row = {"system": options.system, "hits": hits, "topics": len(topics), "ndcg": ndcg}
        times = {"mean": fmean(seconds), "p50": median(seconds)}
        times["p95"] = seconds[len(seconds) * 95 // 100]
        rows.append({**row, **{name: 1000 * value for name, value in times.items()}})
    return rows


def open_bm25(index: str) -> Search:
    from spade_pyserini import Bm25Searcher

    return Bm25Searcher(index).search


def open_impact(index: str) -> Search:
    from spade_pyserini import ImpactSearcher

    return ImpactSearcher(index).search


def open_dense(folder: str) -> Search:
    """Return a search function that encodes the query and compares it with all embeddings."""
    import faiss
    import numpy as np
    import torch

    from spade_pyserini.models.bi_encoder import load_bi_encoder

    torch.set_num_threads(1)
    faiss.omp_set_num_threads(1)
    manifest = json.loads(Path(f"{folder}.manifest.json").read_text())
    model = load_bi_encoder(manifest["settings"]["model"], device="cpu")
    rows = [np.load(path, allow_pickle=False) for path in sorted(Path(folder).glob("docs*.npy"))]
    records = [json.loads(path.read_text()) for path in sorted(Path(folder).glob("docs*.json"))]
    docids = [docid for record in records for docid in record["docids"]]
    index = faiss.IndexFlatIP(rows[0].shape[1])
    for row in rows:
        index.add(row)
    if not index.ntotal == len(docids) == manifest["documents"]:
        counts = f"{index.ntotal} embeddings and {len(docids)} ids"
        counts += f", but {manifest['documents']} documents in its manifest"
        sys.exit(f"{folder} has {counts}; run `spade dense --overwrite`")

    def search(text: str, k: int) -> list[tuple[str, float]]:
        query = model.encode_query([text], normalize_embeddings=True, show_progress_bar=False)
        scores, positions = index.search(np.asarray(query, np.float32), min(k, len(docids)))
        pairs = zip(positions[0], scores[0], strict=True)
        return [(docids[position], float(score)) for position, score in pairs]

    return search


SYSTEMS: dict[str, Callable[[str], Search]] = {
    "bm25": open_bm25,
    "impact": open_impact,
    "dense": open_dense,
}
NAMES = {"bm25": "BM25", "impact": "spade-mini", "dense": "dense MiniLM"}
KIND = {"bm25": "bm25", "impact": "spade", "dense": "query"}


def show(rows: list[dict[str, Any]]) -> None:
    print("milliseconds per query, one thread")
    print(f"{'system':14} {'hits':>5} {'nDCG@10':>8} {'mean':>7} {'p50':>7} {'p95':>7}")
    for row in rows:
        print(
            f"{NAMES[row['system']]:14} {row['hits']:5} {row['ndcg']:8.4f} {row['mean']:7.2f}"
            f" {row['p50']:7.2f} {row['p95']:7.2f}"
        )


def draw(rows: list[dict[str, Any]], note: str, path: Path) -> None:
    """Draw both panels on a white background, because web pages may be light or dark."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "tradeoff", "font.size": 10})
    from matplotlib import pyplot
    from matplotlib.lines import Line2D

    figure, (here, paper) = pyplot.subplots(1, 2, figsize=(11, 4.9), facecolor="white")
    shapes = dict(zip(sorted({row["hits"] for row in rows}), "o^s", strict=False))
    for row in rows:
        color = COLORS[KIND[row["system"]]]
        here.plot(row["mean"], row["ndcg"], shapes[row["hits"]], color=color, markersize=9)
    for system, name in NAMES.items():
        points = [row for row in rows if row["system"] == system]
        if not points:
            continue
        best = max(points, key=lambda row: row["mean"])
        here.plot(
            [row["mean"] for row in points],
            [row["ndcg"] for row in points],
            color=COLORS[KIND[system]],
            linewidth=1,
        )
        label(here, name, best["mean"], best["ndcg"], KIND[system], (9, -3))
    for name, latency, mrr, kind, offset in PAPER:
        paper.plot(latency, mrr, "o", color=COLORS[kind], markersize=7)
        label(paper, name, latency, mrr, kind, offset)
    topics = rows[0]["topics"]
    panel(
        here, f"Measured here: {note}\n{topics} topics, Lucene and FAISS, one CPU thread", "nDCG@10"
    )
    panel(paper, "Reported in the paper: 8.8 million passages\nMS MARCO dev, PISA", "MRR@10")
    low, high = min(row["mean"] for row in rows), max(row["mean"] for row in rows)
    here.set_xlim(low / 1.5, high * 3)
    here.set_ylim(min(row["ndcg"] for row in rows) - 0.05, max(row["ndcg"] for row in rows) + 0.05)
    paper.set_facecolor("#f3f4f6")
    paper.set_xlim(8, 2600)
    paper.set_ylim(0.17, 0.385)
    marks = [
        Line2D([], [], ls="", marker="o", color=COLORS[kind], label=KINDS[kind]) for kind in KINDS
    ]
    figure.legend(
        handles=marks, loc="lower center", ncols=4, frameon=False, bbox_to_anchor=(0.5, 0.035)
    )
    hits = [
        Line2D([], [], ls="", marker=shape, color="#374151", label=f"{count:,} hits")
        for count, shape in shapes.items()
    ]
    here.legend(handles=hits, loc="lower right", frameon=False)
    warning = "Collections, measures, engines and machines differ: do not compare the two panels."
    figure.text(0.5, 0.012, warning, ha="center", color="#374151", style="italic")
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    figure.savefig(path, metadata={"Date": None})


def label(axes: Any, name: str, x: float, y: float, kind: str, offset: tuple[int, int]) -> None:
    style = {"color": COLORS[kind], "fontsize": 9.5}
    axes.annotate(name, (x, y), offset, textcoords="offset points", **style)


def panel(axes: Any, title: str, measure_name: str) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_title(title, fontsize=10.5)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("milliseconds per query (log scale)")
    axes.set_ylabel(measure_name)
    axes.grid(color="#d1d5db", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main()
