r"""Measure indexes of up to 8.8 million documents: building, opening, latency, throughput.

    python benchmarks/scale.py --vectors encode/X.spade-mini --corpus X --topics X/test \
        --folder /data/scale --sizes 100000 1000000 8841823 --pisa FOLDER

``scale_vectors.py`` makes the documents from the real vectors of ``--vectors`` and the texts of
``--corpus``. For each size these steps run, each in a process of its own:

    generate           vectors and texts
    direct, anserini   impact indexes, built by this package's own builder and by Anserini
                       (Anserini is left out for sizes above --anserini-limit)
    bm25               a BM25 index of the texts, in Lucene
    pisa, pisa-bm25    an impact index and a BM25 index in PISA
    open:ENGINE        seconds of the first opening, of the second opening, and of the first query
    latency:ENGINE     milliseconds per query, one thread, 10 and 1,000 hits
    throughput:ENGINE  queries per second with 2 threads

PISA must be installed, or ``--pisa`` must name a folder into which `pip install --target FOLDER
pyterrier-pisa` has installed it. ``--no-pisa`` leaves out PISA.

The results are saved to ``results.json`` in ``--folder`` after every step. A step that has a result
is not run again, so an interrupted run continues (remove ``results.json`` to measure again). At
the end, the results are printed as tables; ``--table`` only prints the results so far.
``--plan`` prints the disk space that is needed: for 8,841,823 documents of 277 terms about 75 GB at
the peak, which is reached while PISA builds its index. ``--discard`` removes the vectors after all
impact indexes are built, and the texts after all BM25 indexes are built.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import scale_report
from scale_vectors import write_collection

FIRST = "what is a database"
HITS = (10, 1000)
THREADS = 2
SEARCHED = ("quantized.*", "bm25.*", "fwd.*lex")  # files of a PISA index that a search reads
LUCENE, PISA = ("lucene", "bm25-lucene"), ("pisa-maxscore", "pisa-bmw", "bm25-pisa")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--vectors", type=Path, required=True, help="folder of real vectors of `spade encode`")
    add("--corpus", required=True, help="corpus that --vectors was encoded from")
    add("--topics", required=True, help="real queries")
    add("--folder", type=Path, required=True, help="folder for collections, indexes and results")
    add("--sizes", type=int, nargs="+", default=[100_000], help="numbers of documents")
    add("--anserini-limit", type=int, default=1_000_000, help="largest size for Anserini's builder")
    add("--repeat", type=int, default=3, help="how often each query is measured")
    add(
        "--pisa",
        type=Path,
        nargs="+",
        default=[],
        metavar="FOLDER",
        help="folder of pyterrier-pisa; a folder of libtbb.so.2 if the system does not have it",
    )
    add("--no-pisa", action="store_true", help="measure Lucene only")
    add("--discard", action="store_true", help="remove vectors and texts after indexing")
    add("--table", action="store_true", help="only print the tables of the results so far")
    add("--plan", action="store_true", help="only print the disk space that is needed")
    add("--step", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for folder in options.pisa:
        use_folder(folder.absolute())
    if options.step:
        name, _, engine = options.step.partition(":")
        print(json.dumps(STEPS[name](options, options.sizes[0], engine)))
    elif options.plan:
        print(scale_report.plan(options.vectors, options.sizes))
    else:
        if not options.table:
            run(options)
        print(scale_report.table(load(options)))


def use_folder(folder: Path) -> None:
    """Make pyterrier-pisa importable from ``folder``; load libtbb.so.2 if ``folder`` has it."""
    sys.path.append(str(folder))
    for library in [*folder.rglob("libtbb.so.2")][:1]:
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)


def run(options: argparse.Namespace) -> None:
    """Run all steps that have no result yet."""
    for size in options.sizes:
        builds = ["generate", "direct"]
        builds += ["anserini"] if size <= options.anserini_limit else []
        builds += [] if options.no_pisa else ["pisa"]
        texts = ["bm25"] + ([] if options.no_pisa else ["pisa-bm25"])
        for steps, used in ((builds, "vectors"), (texts, "texts")):
            for step in steps:
                run_step(options, size, step)
            if options.discard:
                shutil.rmtree(options.folder / str(size) / used, ignore_errors=True)
        for engine in LUCENE if options.no_pisa else LUCENE + PISA:
            for step in ("open", "latency", "throughput"):
                run_step(options, size, f"{step}:{engine}")


def load(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    path = options.folder / "results.json"
    results: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path.exists() else {}
    return results


def run_step(options: argparse.Namespace, size: int, step: str) -> None:
    """Run a step in a child process; save its result, time and peak memory."""
    if step in load(options).get(str(size), {}):
        return
    print(f"{time.strftime('%H:%M:%S')} {size:,} documents: {step}", file=sys.stderr, flush=True)
    command = [sys.executable, __file__, "--step", step, "--sizes", str(size)]
    for name in ("vectors", "corpus", "topics", "folder", "repeat"):
        command += [f"--{name}", str(getattr(options, name))]
    command += ["--pisa", *map(str, options.pisa)] if options.pisa else []
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        # ru_maxrss is the peak memory of the child or of one of its own children, such as Anserini,
        # whichever is larger.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{step} failed with exit code {process.returncode}; see its messages above")
    seconds = time.perf_counter() - start
    memory = usage.ru_maxrss / 1e3
    result = {"seconds": seconds, "peak_mb": memory, **json.loads(output.splitlines()[-1])}
    results = load(options)
    results.setdefault(str(size), {})[step] = result
    temporary = options.folder / "results.json.tmp"
    temporary.write_text(json.dumps(results, indent=1))
    temporary.replace(options.folder / "results.json")


def folder_of(options: argparse.Namespace, size: int, name: str) -> Path:
    folder: Path = options.folder / str(size) / name
    return folder


def size_of(folder: Path, pattern: str = "*") -> int:
    return sum(path.stat().st_size for path in folder.rglob(pattern) if path.is_file())


def compressed_size(index: Path) -> int:
    """Return the size of the files that a search in PISA reads; other files are not counted."""
    return sum(size_of(index, pattern) for pattern in SEARCHED)


def generate(options: argparse.Namespace, size: int, _: str) -> dict[str, Any]:
    folder = folder_of(options, size, "")
    counts = write_collection(options.vectors, options.corpus, folder, size)
    sizes = {f"{name}_bytes": size_of(folder / name) for name in ("vectors", "texts")}
    return {**counts._asdict(), **sizes}


def tokenizer_of(options: argparse.Namespace) -> Path:
    from spade_pyserini.formats.vector_manifest import tokenizer_path

    return tokenizer_path(options.vectors)


def build_direct(options: argparse.Namespace, size: int, _: str) -> dict[str, Any]:
    from spade_pyserini.index import IndexOptions, build_foreign_index

    index = folder_of(options, size, "direct")
    source = folder_of(options, size, "vectors")
    settings = IndexOptions(threads=THREADS)
    manifest = build_foreign_index(source, index, tokenizer_of(options), settings, overwrite=True)
    return {"bytes": size_of(index), "postings": manifest.postings}


def build_anserini(options: argparse.Namespace, size: int, _: str) -> dict[str, Any]:
    """Run only Anserini, without this package's slow check of all lines in Python."""
    from spade_pyserini.index.anserini import AnseriniInput, run_index_collection
    from spade_pyserini.index.counts import lucene_counts

    index = folder_of(options, size, "anserini")
    flags = ("--impact", "--pretokenized")
    vectors = folder_of(options, size, "vectors")
    source = AnseriniInput("JsonVectorCollection", vectors, size, flags)
    run_index_collection(source, index, threads=THREADS, log=index.with_suffix(".log"))
    result = {"bytes": size_of(index), "postings": lucene_counts(index).postings}
    shutil.rmtree(index)
    return result


def build_bm25(options: argparse.Namespace, size: int, _: str) -> dict[str, Any]:
    from spade_pyserini.corpora import open_corpus
    from spade_pyserini.index import build_bm25_index

    index = folder_of(options, size, "bm25")
    corpus = open_corpus("texts", folder_of(options, size, "texts"))
    manifest = build_bm25_index(corpus, index, threads=THREADS, overwrite=True)
    return {"bytes": size_of(index), "postings": manifest.postings}


def build_pisa(options: argparse.Namespace, size: int, _: str) -> dict[str, Any]:
    """Build a PISA index from the vectors, which is quicker than exporting the Lucene index."""
    from spade_pyserini.export.pisa import TOKENIZER, PisaSearcher, pyterrier_pisa, silence
    from spade_pyserini.formats.vectors import read_shard
    from spade_pyserini.models.wordpieces import WordPieces

    index = folder_of(options, size, "pisa")
    shutil.rmtree(index, ignore_errors=True)
    files = sorted(folder_of(options, size, "vectors").iterdir())
    rows = ({"docno": v.docid, "toks": v.impacts} for file in files for v in read_shard(file))
    with silence():
        pyterrier_pisa().PisaIndex(str(index), stemmer="none").toks_indexer(scale=1.0).index(rows)
        WordPieces.load(tokenizer_of(options)).save(index / TOKENIZER)
        for algorithm in ("maxscore", "block_max_wand"):  # the first search compresses postings
            PisaSearcher(index, algorithm).search(FIRST)
    return {"bytes": size_of(index), "searched_bytes": compressed_size(index)}


def build_pisa_bm25(options: argparse.Namespace, size: int, _: str) -> dict[str, Any]:
    from latency import index_bm25_in_pisa

    index = folder_of(options, size, "pisa-bm25")
    shutil.rmtree(index, ignore_errors=True)
    index_bm25_in_pisa(str(folder_of(options, size, "texts")), str(index))
    return {"bytes": size_of(index), "searched_bytes": compressed_size(index)}


def open_lucene(options: argparse.Namespace, size: int) -> Any:
    from spade_pyserini.search import ImpactSearcher

    return ImpactSearcher(folder_of(options, size, "direct"))


def open_bm25(options: argparse.Namespace, size: int) -> Any:
    from spade_pyserini.search.bm25 import Bm25Searcher

    return Bm25Searcher(folder_of(options, size, "bm25"))


def open_pisa(algorithm: str) -> Callable[[argparse.Namespace, int], Any]:
    def open_index(options: argparse.Namespace, size: int) -> Any:
        from spade_pyserini.export.pisa import PisaSearcher

        return PisaSearcher(folder_of(options, size, "pisa"), algorithm)

    return open_index


class PisaBm25:
    """Searches with BM25 in PISA (MaxScore); has the same methods as this package's searchers."""

    def __init__(self, options: argparse.Namespace, size: int) -> None:
        from spade_pyserini.export.pisa import pyterrier_pisa

        folder = folder_of(options, size, "pisa-bm25")
        self._index = pyterrier_pisa().PisaIndex(str(folder), stops="lucene")
        self._engines: dict[tuple[int, int], Any] = {}

    def search(self, query: str, k: int = 10) -> Any:
        return self._search([("query", query)], k, 1)

    def batch_search(self, topics: list[Any], k: int, threads: int) -> Any:
        return self._search([(topic.qid, topic.text) for topic in topics], k, threads)

    def _search(self, queries: list[tuple[str, str]], k: int, threads: int) -> Any:
        import pandas

        if (k, threads) not in self._engines:
            self._engines[k, threads] = self._index.bm25(
                num_results=k, threads=threads, query_algorithm="maxscore"
            )
        hits = self._engines[k, threads](pandas.DataFrame(queries, columns=["qid", "query"]))
        return list(zip(hits["qid"], hits["docno"], hits["score"], strict=True))


ENGINES: dict[str, Callable[[argparse.Namespace, int], Any]] = {
    "lucene": open_lucene,
    "bm25-lucene": open_bm25,
    "pisa-maxscore": open_pisa("maxscore"),
    "pisa-bmw": open_pisa("block_max_wand"),
    "bm25-pisa": PisaBm25,
}


def measure_open(options: argparse.Namespace, size: int, engine: str) -> dict[str, Any]:
    """Return the seconds of the first opening of an index, of the second opening, and of a search.

    When an index is opened for the first time, its checksums are verified. Libraries are loaded
    before the measurement. Files that were just written are in the operating system's cache.
    """
    cache = folder_of(options, size, "cache")
    shutil.rmtree(cache, ignore_errors=True)
    os.environ["SPADE_CACHE_DIR"] = str(cache)
    from spade_pyserini.lucene import jvm

    jvm.start()
    for module in ("spade_pyserini.search.impact", "spade_pyserini.search.bm25"):
        importlib.import_module(module)
    if engine in PISA:
        importlib.import_module("spade_pyserini.export.pisa").pyterrier_pisa()
    result = {}
    for name in ("open_first", "open"):
        start = time.perf_counter()
        searcher = ENGINES[engine](options, size)
        result[name] = time.perf_counter() - start
    start = time.perf_counter()
    searcher.search(FIRST, 10)
    return {**result, "answer": time.perf_counter() - start}


def measure_latency(options: argparse.Namespace, size: int, engine: str) -> dict[str, Any]:
    texts = [topic.text for topic in topics_of(options)]
    searcher = ENGINES[engine](options, size)
    result: dict[str, Any] = {"queries": len(texts)}
    for hits in HITS:
        for text in texts:
            searcher.search(text, hits)
        seconds = []
        for text in texts * options.repeat:
            start = time.perf_counter()
            searcher.search(text, hits)
            seconds.append(time.perf_counter() - start)
        seconds.sort()
        ms = {f"p{p}": 1000 * seconds[len(seconds) * p // 100] for p in (50, 95, 99)}
        result[str(hits)] = {"mean": 1000 * fmean(seconds), **ms}
    return result


def measure_throughput(options: argparse.Namespace, size: int, engine: str) -> dict[str, Any]:
    from spade_pyserini.records import Topic

    texts = [topic.text for topic in topics_of(options)] * options.repeat
    topics = [Topic(str(number), text) for number, text in enumerate(texts)]
    searcher = ENGINES[engine](options, size)
    result = {}
    for hits in HITS:
        searcher.batch_search(topics, hits, THREADS)
        start = time.perf_counter()
        searcher.batch_search(topics, hits, THREADS)
        result[str(hits)] = len(topics) / (time.perf_counter() - start)
    return result


def topics_of(options: argparse.Namespace) -> list[Any]:
    from spade_pyserini.corpora.topics import read_topics

    return list(read_topics(options.topics))


STEPS: dict[str, Callable[[argparse.Namespace, int, str], dict[str, Any]]] = {
    "generate": generate,
    "direct": build_direct,
    "anserini": build_anserini,
    "bm25": build_bm25,
    "pisa": build_pisa,
    "pisa-bm25": build_pisa_bm25,
    "open": measure_open,
    "latency": measure_latency,
    "throughput": measure_throughput,
}

if __name__ == "__main__":
    main()
