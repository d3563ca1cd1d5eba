"""``spade demo``: encode, index, search and score the built-in corpus, with SpaDE and BM25."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from spade_pyserini.cli import arguments
from spade_pyserini.cli.main import call
from spade_pyserini.formats.tables import counted
from spade_pyserini.formats.vector_manifest import manifest_path
from spade_pyserini.progress import duration

if TYPE_CHECKING:
    from spade_pyserini.records import Topic
    from spade_pyserini.search import Bm25Searcher, ImpactSearcher

CORPUS, TOPICS = "pydoc", "pydoc/test"
RUN_NAME = TOPICS.replace("/", "-")  # the name of the topics in file names of runs
MODEL = "spade-mini"
MEASURES = ("nDCG@10", "MRR@10", "R@100")
# The examples are development topics for which the first hit of spade-mini has grade 2. The table
# of results uses the test topics.
EXAMPLE_TOPICS = "pydoc/dev"
EXAMPLES = ("18", "72", "105")
SHOWN = 3  # hits shown for an example
DOCUMENTS_PER_SECOND = 13  # encoded by one core, see docs/results/cost.md
WORDS_PER_WORDPIECE = 0.75
OTHER_SECONDS = 30  # estimated time for all steps except encoding

SPADE, BM25 = f"{CORPUS}.{MODEL}", f"{CORPUS}.bm25"
STEPS = (
    f"encode --corpus {CORPUS} --model {MODEL} --output encode/{SPADE}",
    f"index --input encode/{SPADE} --output index/{SPADE}",
    f"index --bm25 --corpus {CORPUS} --output index/{BM25}",
    *(
        f"search --index index/{name} --topics {TOPICS} "
        f"--output runs/run.{name}.{RUN_NAME}.txt --overwrite"
        for name in (BM25, SPADE)
    ),
    f"evaluate --qrels {TOPICS} "
    f"--run runs/run.{BM25}.{RUN_NAME}.txt runs/run.{SPADE}.{RUN_NAME}.txt",
)

SERVE = (
    f"spade serve --index index/{SPADE} --bm25 index/{BM25} --qrels {EXAMPLE_TOPICS} "
    f"--model {MODEL}"
)


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade demo``."""
    description = "Encode, index, search and score the documentation of Python's standard library."
    return arguments.new_parser("demo", description, "spade demo")


def run(options: argparse.Namespace) -> None:
    """Run all steps, then print a table of results, three example queries and the commands."""
    print(_announcement(), flush=True)
    for step in STEPS:
        print(f"\n$ spade {step}", flush=True)
        name, *words = shlex.split(step)
        call(name, words)
    _print_results()
    _print_examples()
    print("\nThe commands of this demo:")
    if shutil.which("spade") is None:
        folder = Path(sys.prefix)
        here = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
        print(f"  source {here}/bin/activate")
    for step in STEPS:
        print(f"  spade {step}")
    print(f'  spade search --index index/{SPADE} --query "YOUR WORDS"')
    print(f"\n{_limit()}")
    print("\nTo search and compare in a browser, start the server and open the address it prints:")
    print(f"  {serve_command()}")


def serve_command() -> str:
    """Return the command that starts the server; it works even if ``spade`` is not on the PATH."""
    if shutil.which("spade"):
        return SERVE
    program = Path(sys.executable).with_name("spade")
    here = Path.cwd()
    near = program.relative_to(here) if program.is_relative_to(here) else program
    words = [str(near)] if program.exists() else [sys.executable, "-m", "spade_pyserini"]
    return f"{shlex.join(words)}{SERVE.removeprefix('spade')}"


def _print_results() -> None:
    """Print effectiveness, size and latency of BM25 and SpaDE in one table."""
    from spade_pyserini.corpora.qrels import read_qrels
    from spade_pyserini.corpora.topics import read_topics
    from spade_pyserini.evaluate import evaluate_run, parse_measures
    from spade_pyserini.formats.paths import folder_bytes
    from spade_pyserini.formats.tables import text_table
    from spade_pyserini.formats.vector_manifest import VectorManifest
    from spade_pyserini.search import open_searcher, read_run

    qrels, topics = read_qrels(TOPICS), read_topics(TOPICS)
    measures = parse_measures(list(MEASURES))
    rows = []
    for title, name in (("BM25", BM25), (f"SpaDE ({MODEL})", SPADE)):
        scores = evaluate_run(qrels, read_run(f"runs/run.{name}.{RUN_NAME}.txt"), measures)
        with open_searcher(f"index/{name}") as searcher:
            terms = searcher.manifest.postings / searcher.manifest.documents
            milliseconds = _latency(searcher, topics)
        megabytes = folder_bytes(Path("index", name)) / 1e6
        effectiveness = [f"{scores[measure]:.3f}" for measure in measures]
        rows.append(
            [title, *effectiveness, f"{terms:.1f}", f"{megabytes:.1f}", f"{milliseconds:.1f}"]
        )
    header = ["model", *MEASURES, "terms/document", "index MB", "ms/query"]
    print(f"\n{CORPUS}, {len(topics)} test topics\n")
    print(text_table(header, rows))
    print(
        "\nms/query: time to tokenize a query and retrieve 1,000 hits with one thread, mean over "
        "the topics in a second pass."
    )
    if not VectorManifest.load(Path("encode", SPADE)).trained:
        print("This SpaDE model is UNTRAINED: its row says nothing about effectiveness.")


def _latency(searcher: ImpactSearcher | Bm25Searcher, topics: list[Topic]) -> float:
    """Return milliseconds per query. Queries run one at a time, after a pass that warms the JVM."""
    for _ in range(2):
        start = time.perf_counter()
        for topic in topics:
            searcher.search(topic.text, 1000)
    return (time.perf_counter() - start) / len(topics) * 1000


def _announcement() -> str:
    """Return a sentence that says what the demo does, and an estimate of its duration."""
    from spade_pyserini.corpora.catalogue import catalogue

    documents = catalogue()[CORPUS].documents
    what = f"The demo encodes, indexes and searches {documents:,} documents"
    if manifest_path(Path("encode", SPADE)).exists():
        least = duration(OTHER_SECONDS)
        return f"{what}. Some or all are encoded already, so the demo takes {least} or more."
    has_affinity = hasattr(os, "sched_getaffinity")  # macOS does not have this function
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    seconds = documents / (DOCUMENTS_PER_SECOND * cores) + OTHER_SECONDS
    where = f"On {counted(cores, 'core')}"
    return f"{what}. {where} this takes about {duration(seconds)}, most of it for encoding."


def _limit() -> str:
    """Return a note on how much of a document the model reads, and on encoding longer documents."""
    from spade_pyserini.models.config import SpadeConfig
    from spade_pyserini.models.hub import resolve_model

    length = SpadeConfig.load(resolve_model(MODEL)).max_length
    words = round(length * WORDS_PER_WORDPIECE, -1)
    return (
        f"For your own documents: {MODEL} reads the first {length} WordPieces of a document, about "
        f"{words:.0f} English words.\n`spade encode --segment 150:75` divides longer documents "
        "into passages, and `spade search --max-passage` ranks documents by their best passage."
    )


def _print_examples() -> None:
    """Print the first hits of BM25 and SpaDE for three topics, and the terms that match."""
    from spade_pyserini.corpora.qrels import read_qrels
    from spade_pyserini.corpora.topics import read_topics
    from spade_pyserini.formats.tables import text_table
    from spade_pyserini.search import Bm25Searcher, ImpactSearcher

    qrels = read_qrels(EXAMPLE_TOPICS)
    topics = {topic.qid: topic.text for topic in read_topics(EXAMPLE_TOPICS)}
    print(f"\nExamples: topics of {EXAMPLE_TOPICS}, chosen because SpaDE's first hit has grade 2.")
    print("Only the table above is a fair comparison.")
    with Bm25Searcher(f"index/{BM25}") as bm25, ImpactSearcher(f"index/{SPADE}") as searcher:
        for qid in EXAMPLES:
            text, judged = topics[qid], qrels[qid]
            ours = searcher.search(text, SHOWN)
            columns = (
                [_with_grade(hit.docid, judged) for hit in hits] + [""] * (SHOWN - len(hits))
                for hits in (bm25.search(text, SHOWN), ours)
            )
            rows = [[str(rank), *row] for rank, row in enumerate(zip(*columns, strict=True), 1)]
            header = ["", "BM25", f"SpaDE ({MODEL})"]
            print(f"\n{text!r}\n{text_table(header, rows, left=(0, 1, 2))}")
            if ours:
                matches = searcher.matched_terms(text, ours[0].docid).items()
                terms = "  ".join(f"{term}:{impact}" for term, impact in matches)
                print(f"{ours[0].docid} matches {terms}")


def _with_grade(docid: str, judged: dict[str, int]) -> str:
    """Return a docid with its judgement, such as ``shutil.which (grade 2)``."""
    return f"{docid} ({f'grade {judged[docid]}' if docid in judged else 'not judged'})"


if __name__ == "__main__":
    import sys

    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("demo"))
