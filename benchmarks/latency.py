r"""Measure query latency as the SpaDE paper does: one thread, one query at a time.

    python benchmarks/latency.py --index index/nfcorpus.spade-mini --topics nfcorpus/test
    python benchmarks/latency.py --index index/A index/B --bm25 index/C --corpus C --topics T \
        --plot all.png

Each engine runs in its own process. It searches all topics once to warm up, and then each topic
``--repeat`` times. The measured time is that of one Python call, which takes the text of a query
and returns ids and scores. The engines are:

    ours            Lucene, with this package's searcher
    pyserini        Lucene, with Pyserini's searcher
    pisa-maxscore   PISA with MaxScore (needs the extra ``pisa``)
    pisa-bmw        PISA with Block-Max WAND (needs the extra ``pisa``)

With ``--bm25``, BM25 is measured with Pyserini's searcher. With ``--corpus``, the corpus is indexed
in PISA, and BM25 is measured there with MaxScore. The time from the start of a process to its first
answer is measured, too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

FIRST = "what is a database"
ENGINES = ("ours", "pyserini", "pisa-maxscore", "pisa-bmw")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--index", nargs="*", default=[], help="impact indexes")
    add("--bm25", nargs="*", default=[], help="BM25 indexes")
    add("--corpus", help="corpus to index and search with BM25 in PISA")
    add("--topics", required=True)
    add("--hits", type=int, nargs="+", default=[10, 1000])
    add("--repeat", type=int, default=3)
    add("--engines", nargs="+", default=ENGINES, choices=ENGINES)
    add("--plot", metavar="FILE", help="draw the mean latencies to this file")
    add("--json", metavar="FILE", help="write the measurements to this file")
    add("--role", help=argparse.SUPPRESS)
    add("--started", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        print(json.dumps(measure(options)))
        return
    if not (options.index or options.bm25 or options.corpus):
        parser.error("name at least one --index, --bm25 or --corpus")
    rows = []
    head = ("mean", "p50", "p95", "p99")
    columns = " ".join(f"{name:>8}" for name in head)
    print("milliseconds per query; first: seconds from process start to the first answer")
    print(f"{'index':32} {'engine':14} {'hits':>5} {columns} {'first':>7} {'MB':>8}", flush=True)
    pairs = [(index, engine) for index in options.index for engine in options.engines]
    pairs += [(index, "bm25") for index in options.bm25]
    if options.corpus:
        pairs.append((f"{Path(options.corpus).name}.bm25", "bm25-pisa"))
    with tempfile.TemporaryDirectory() as folder:
        for index, engine in pairs:
            path, size = index, folder_megabytes(index)
            if engine == "bm25-pisa":
                path = str(Path(folder, f"{index}.pisa"))
                index_bm25_in_pisa(options.corpus, path)
                size = folder_megabytes(path, "inv.*")
            elif engine.startswith("pisa"):
                path = str(Path(folder, f"{Path(index).name}.pisa"))
                if not Path(path).exists():
                    command = [sys.executable, "-m", "spade_pyserini.export", "--index", index]
                    command += ["--to", "pisa", "--output", path]
                    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                size = folder_megabytes(path, "inv.*")
            for hits in options.hits:
                times = measure_in_child(path, engine, hits, options)
                row = {"index": Path(index).name, "engine": engine, "hits": hits, "mb": size}
                rows.append({**row, **times})
                show(rows[-1])
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1))
    if options.plot:
        draw(rows, options.plot)


def measure_in_child(
    index: str, engine: str, hits: int, options: argparse.Namespace
) -> dict[str, float]:
    """Measure an engine in a new process; return its times."""
    command = [sys.executable, __file__, "--index", index, "--topics", options.topics]
    command += ["--hits", str(hits), "--repeat", str(options.repeat), "--role", engine]
    command += ["--started", str(time.time())]
    process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    times: dict[str, float] = json.loads(process.stdout.splitlines()[-1])
    return times


def measure(options: argparse.Namespace) -> dict[str, float]:
    """Measure an engine in this process. The time to the first answer includes imports."""
    search = SEARCHERS[options.role](options.index[0])
    (hits,) = options.hits
    search(FIRST, hits)
    first = time.time() - options.started
    from spade_pyserini.corpora.topics import read_topics

    texts = [topic.text for topic in read_topics(options.topics)]
    for text in texts:
        search(text, hits)
    seconds = []
    for _ in range(options.repeat):
        for text in texts:
            start = time.perf_counter()
            search(text, hits)
            seconds.append(time.perf_counter() - start)
    seconds.sort()
    percentiles = {f"p{p}": 1000 * seconds[len(seconds) * p // 100] for p in (50, 95, 99)}
    return {"mean": 1000 * fmean(seconds), "first": first, **percentiles}


def ours(index: str) -> Callable[[str, int], Any]:
    from spade_pyserini.search import ImpactSearcher

    return ImpactSearcher(index).search


def pyserini(index: str) -> Callable[[str, int], Any]:
    from spade_pyserini.formats.index_manifest import tokenizer_path
    from spade_pyserini.search.query_encoder import BooleanQueryEncoder

    encoder = BooleanQueryEncoder(tokenizer_path(Path(index)))
    from pyserini.search.lucene import LuceneImpactSearcher

    searcher = LuceneImpactSearcher(index, encoder, min_idf=-1)
    return lambda text, k: [(hit.docid, hit.score) for hit in searcher.search(text, k)]


def bm25(index: str) -> Callable[[str, int], Any]:
    from spade_pyserini.lucene.pyserini_import import prepare_pyserini

    prepare_pyserini()
    from pyserini.search.lucene import LuceneSearcher

    searcher = LuceneSearcher(index)
    return lambda text, k: [(hit.docid, hit.score) for hit in searcher.search(text, k)]


def index_bm25_in_pisa(corpus: str, index: str) -> None:
    """Index the stems of all words in PISA; searches remove stop words from queries."""
    from spade_pyserini.corpora import open_corpus
    from spade_pyserini.export.pisa import pyterrier_pisa, silence

    documents = (
        {"docno": document.docid, "text": document.contents} for document in open_corpus(corpus)
    )
    with silence():
        pyterrier_pisa().PisaIndex(index, stemmer="porter2").index(documents)
        bm25_pisa(index)(FIRST, 1)  # the first search compresses the postings


def bm25_pisa(index: str) -> Callable[[str, int], Any]:
    import pandas

    from spade_pyserini.export.pisa import pyterrier_pisa

    pisa_index = pyterrier_pisa().PisaIndex(index, stops="lucene")
    engines: dict[int, Any] = {}

    def search(text: str, k: int) -> list[tuple[str, float]]:
        if k not in engines:
            engines[k] = pisa_index.bm25(num_results=k, threads=1, query_algorithm="maxscore")
        hits = engines[k](pandas.DataFrame([{"qid": "query", "query": text}]))
        return list(zip(hits["docno"], hits["score"], strict=True))

    return search


def pisa(algorithm: str) -> Callable[[str], Callable[[str, int], Any]]:
    def open_index(index: str) -> Callable[[str, int], Any]:
        from spade_pyserini.export.pisa import PisaSearcher

        return PisaSearcher(index, algorithm).search

    return open_index


SEARCHERS: dict[str, Callable[[str], Callable[[str, int], Any]]] = {
    "ours": ours,
    "pyserini": pyserini,
    "bm25": bm25,
    "bm25-pisa": bm25_pisa,
    "pisa-maxscore": pisa("maxscore"),
    "pisa-bmw": pisa("block_max_wand"),
}


def folder_megabytes(folder: str, pattern: str = "*") -> float:
    return sum(path.stat().st_size for path in Path(folder).glob(pattern)) / 1e6


def show(row: dict[str, Any]) -> None:
    print(
        f"{row['index']:32} {row['engine']:14} {row['hits']:5} {row['mean']:8.2f} {row['p50']:8.2f}"
        f" {row['p95']:8.2f} {row['p99']:8.2f} {row['first']:7.2f} {row['mb']:8.1f}",
        flush=True,
    )


def draw(rows: list[dict[str, Any]], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = [f"{row['index']}\n{row['engine']}, {row['hits']} hits" for row in rows]
    figure, axes = pyplot.subplots(figsize=(8, 0.4 * len(rows) + 1))
    axes.barh(names[::-1], [row["mean"] for row in rows][::-1], color="#4477aa")
    axes.plot([row["p95"] for row in rows][::-1], names[::-1], "k|", label="95th percentile")
    axes.set_xlabel("milliseconds per query, one thread")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


if __name__ == "__main__":
    main()
