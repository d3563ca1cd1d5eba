r"""Compare the speed of `spade serve` and Pyserini's REST server; measure memory over time.

    python benchmarks/serve.py --index index/pydoc.spade-mini --corpus pydoc --topics pydoc/test
    python benchmarks/serve.py --index I --corpus C --topics T --clients 1 8 64 --seconds 20 \
        --soak 20000 --json serve.json

Both servers run on loopback, one after the other, with the same impact index. The clients are
threads of another process. Each client has its own connection and sends one request after the
other, cycling through the topics. The rows of the table:

    spade           /search with titles, snippets and matched terms
    spade brief     /search with brief=true: ids and scores
    pyserini        Pyserini's REST server: ids, scores and texts

Pyserini's server serves prebuilt indexes only, so this script registers the local index in the
server. The texts come from a second index, which this script builds and keeps open (Pyserini's own
code would open the second index again for every hit). The answers of both servers to all topics
must be equal.

The soak test (``--soak N``) sends N requests to `spade serve` and prints the server's resident
memory after each tenth of the requests.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import cycle, islice
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote

NAME = "msmarco-v1-passage"  # the index that Pyserini's server opens when it starts
Request = tuple[str, str, bytes | None]  # method, path, body


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--index", required=True, help="an impact index")
    add("--corpus", required=True, help="the corpus of the index, for texts")
    add("--topics", required=True)
    add("--hits", type=int, default=10)
    add("--clients", type=int, nargs="+", default=[1, 8, 64])
    add("--seconds", type=float, default=10.0, help="duration of each measurement")
    add("--soak", type=int, default=0, help="number of requests of the soak test")
    add("--soak-only", action="store_true", help="run only the soak test")
    add("--json", metavar="FILE", help="write the measurements to this file")
    add("--role", help=argparse.SUPPRESS)
    add("--port", type=int, help=argparse.SUPPRESS)
    add("--texts", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role == "pyserini":
        serve_pyserini(options.index, options.texts, options.port)
        return
    result: dict[str, Any] = {}
    if not options.soak_only:
        result["rows"] = compare(options)
    if options.soak:
        result["soak"] = soak(options)
    if options.json:
        Path(options.json).write_text(json.dumps(result, indent=1))


# The servers


@contextmanager
def spade_server(options: argparse.Namespace) -> Iterator[subprocess.Popen[bytes]]:
    port = options.port
    command = [sys.executable, "-m", "spade_pyserini", "serve", "--index", options.index]
    command += ["--corpus", options.corpus, "--port", str(port)]
    with running(command, port, "/healthz") as process:
        yield process


@contextmanager
def pyserini_server(options: argparse.Namespace, texts: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, __file__, "--index", options.index, "--corpus", options.corpus]
    command += ["--topics", options.topics, "--role", "pyserini", "--port", str(options.port)]
    with running([*command, "--texts", texts], options.port, "/") as process:
        yield process


@contextmanager
def running(command: list[str], port: int, path: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server and wait until it answers; stop it afterwards."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        while True:
            if process.poll() is not None:
                sys.exit(f"the server exited: {' '.join(command)}")
            try:
                send(HTTPConnection("127.0.0.1", port), ("GET", path, None))
                break
            except OSError:
                time.sleep(0.05)
        name = "spade" if "-m" in command else "pyserini"
        print(f"{name} answered after {time.monotonic() - start:.1f} s", flush=True)
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def serve_pyserini(index: str, texts: str, port: int) -> None:
    """Run Pyserini's REST server with local indexes."""
    from spade_pyserini.lucene import jvm

    jvm.start()
    from pyserini.search.lucene import LuceneImpactSearcher, LuceneSearcher

    from spade_pyserini.formats.index_manifest import tokenizer_path
    from spade_pyserini.search.query_encoder import BooleanQueryEncoder

    stored = LuceneSearcher(texts)
    LuceneSearcher.from_prebuilt_index = staticmethod(lambda *_, **__: stored)
    # Pyserini's server imports a module that needs an image library, which may not be installed.
    images: Any = ModuleType("pyserini.encode.optional._uniir")
    images.UniIRQueryEncoder = None
    sys.modules[images.__name__] = images
    import uvicorn
    from pyserini.server.models import IndexConfig
    from pyserini.server.rest.app import app
    from pyserini.server.search_controller import get_controller

    encoder = BooleanQueryEncoder(tokenizer_path(Path(index)))
    searcher = LuceneImpactSearcher(index, encoder, min_idf=-1)
    config = IndexConfig(name="local")
    config.searcher, config.base_index, config.index_type = searcher, NAME, "impact"
    get_controller().indexes["local"] = config
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


def build_texts(corpus: str, folder: Path) -> str:
    """Build an index that stores the texts of the corpus, for Pyserini's server."""
    from spade_pyserini.corpora import open_corpus
    from spade_pyserini.index.anserini import AnseriniInput, run_index_collection

    documents = folder / "documents"
    documents.mkdir()
    count = 0
    with (documents / "docs.jsonl").open("w") as stream:
        for document in open_corpus(corpus):
            row = {"id": document.docid, "contents": document.contents}
            stream.write(json.dumps(row) + "\n")
            count += 1
    source = AnseriniInput("JsonCollection", documents, count, ("--storeRaw",))
    run_index_collection(source, folder / "texts", threads=1, log=folder / "log")
    return str(folder / "texts")


# Requests


def spade_request(query: str, hits: int) -> Request:
    return "GET", f"/search?q={quote(query)}&k={hits}&engine=spade", None


def brief_request(query: str, hits: int) -> Request:
    return "GET", f"/search?q={quote(query)}&k={hits}&engine=spade&brief=true", None


def pyserini_request(query: str, hits: int) -> Request:
    return "POST", "/v1/indexes/local/search", json.dumps({"query": query, "hits": hits}).encode()


def send(connection: HTTPConnection, request: Request) -> Any:
    method, path, body = request
    headers = {"Content-Type": "application/json"} if body else {}
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    content = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{path}: status {answer.status}: {content[:200]!r}")
    return content


def compare(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure both servers; return a row for each kind of request and number of clients."""
    queries = read_queries(options.topics)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        texts = build_texts(options.corpus, Path(folder))
        options.port = options.port or free_port()
        with spade_server(options):
            ours = answers(options, queries, brief_request, spade_hits)
            kinds = {"spade": spade_request, "spade brief": brief_request}
            rows += measure(options, queries, kinds)
        with pyserini_server(options, texts):
            theirs = answers(options, queries, pyserini_request, pyserini_hits)
            rows += measure(options, queries, {"pyserini": pyserini_request})
    if ours != theirs:
        different = [query for query, a, b in zip(queries, ours, theirs, strict=True) if a != b]
        sys.exit(f"the answers to {len(different)} queries differ, such as {different[0]!r}")
    print(f"the answers to all {len(queries)} queries are equal: ids, order and scores")
    return rows


def answers(
    options: argparse.Namespace,
    queries: list[str],
    request: Callable[[str, int], Request],
    parse: Callable[[Any], list[tuple[str, int]]],
) -> list[list[tuple[str, int]]]:
    connection = HTTPConnection("127.0.0.1", options.port)
    contents = (send(connection, request(query, options.hits)) for query in queries)
    return [parse(json.loads(content)) for content in contents]


def spade_hits(answer: Any) -> list[tuple[str, int]]:
    return [(docid, round(score)) for docid, score in answer["results"]["spade"]]


def pyserini_hits(answer: Any) -> list[tuple[str, int]]:
    # Anserini lowers tied scores by a millionth per rank; rounding restores them.
    return [(hit["docid"], round(hit["score"])) for hit in answer["candidates"]]


def measure(
    options: argparse.Namespace,
    queries: list[str],
    kinds: dict[str, Callable[[str, int], Request]],
) -> list[dict[str, Any]]:
    rows = []
    for kind, request in kinds.items():
        requests = [request(query, options.hits) for query in queries]
        for clients in options.clients:
            run_clients(options.port, requests, min(clients, 8), options.seconds / 4)  # warm up
            seconds, times = run_clients(options.port, requests, clients, options.seconds)
            times.sort()
            percentiles = {f"p{p}": 1000 * times[len(times) * p // 100] for p in (50, 95, 99)}
            row = {"server": kind, "clients": clients, "per_second": len(times) / seconds}
            rows.append({**row, **percentiles})
            show(rows[-1])
    return rows


def run_clients(
    port: int, requests: list[Request], clients: int, seconds: float
) -> tuple[float, list[float]]:
    """Send requests from another process; return the duration and the time of each request."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        result: tuple[float, list[float]] = pool.apply(
            clients_in_threads, (port, requests, clients, seconds)
        )
    return result


def clients_in_threads(
    port: int, requests: list[Request], clients: int, seconds: float
) -> tuple[float, list[float]]:
    times: list[list[float]] = [[] for _ in range(clients)]
    errors: list[str] = []
    start = time.perf_counter()
    end = start + seconds

    def client(number: int) -> None:
        connection = HTTPConnection("127.0.0.1", port)
        for request in islice(cycle(requests), number * 7, None):
            before = time.perf_counter()
            if before >= end:
                return
            try:
                send(connection, request)
            except Exception as error:
                errors.append(str(error))
                return
            times[number].append(time.perf_counter() - before)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise RuntimeError(errors[0])
    return time.perf_counter() - start, [seconds for part in times for seconds in part]


def soak(options: argparse.Namespace) -> list[dict[str, float]]:
    """Send many search and explain requests; return the server's memory after each tenth."""
    queries = read_queries(options.topics)
    options.port = options.port or free_port()
    samples = []
    with spade_server(options) as process:
        connection = HTTPConnection("127.0.0.1", options.port)
        first = json.loads(send(connection, brief_request(queries[0], 1)))
        docid = first["results"]["spade"][0][0]
        step = max(1, options.soak // 10)
        for number in range(options.soak + 1):
            if number % step == 0:
                samples.append({"requests": number, "megabytes": memory(process.pid)})
                print(f"{number:8,} requests  {samples[-1]['megabytes']:8.1f} MB", flush=True)
            query = queries[number % len(queries)]
            if number % 10 == 9:
                send(connection, ("GET", f"/explain?q={quote(query)}&id={quote(docid)}", None))
            else:
                send(connection, spade_request(f"{query} {number}", options.hits))
    growth = samples[-1]["megabytes"] - samples[len(samples) // 2]["megabytes"]
    print(f"growth in the second half: {growth:+.1f} MB")
    return samples


def memory(pid: int) -> float:
    """Return the resident memory of a process in megabytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1000


def read_queries(topics: str) -> list[str]:
    from spade_pyserini.corpora.topics import read_topics

    return [topic.text for topic in read_topics(topics)]


def free_port() -> int:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def show(row: dict[str, Any]) -> None:
    print(
        f"{row['server']:12} {row['clients']:3} clients {row['per_second']:8.0f} requests/s   "
        f"p50 {row['p50']:7.2f}  p95 {row['p95']:7.2f}  p99 {row['p99']:7.2f} ms",
        flush=True,
    )


if __name__ == "__main__":
    main()
