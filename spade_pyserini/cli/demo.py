"""``spade demo``: encode, index, search and score the built-in corpus, with BM25 next to SpaDE."""

from __future__ import annotations

import argparse
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

from spade_pyserini.cli import arguments
from spade_pyserini.cli.main import call

if TYPE_CHECKING:
    from spade_pyserini.records import Topic
    from spade_pyserini.search import Bm25Searcher, ImpactSearcher

CORPUS, TOPICS = "pydoc", "pydoc-test"
MODEL = "spade-mini"
MEASURES = ("nDCG@10", "MRR@10", "R@100")
EXAMPLES = ("1", "16", "59")

SPADE, BM25 = f"{CORPUS}.{MODEL}", f"{CORPUS}.bm25"
STEPS = (
    f"encode --corpus {CORPUS} --model {MODEL} --output encode/{SPADE}",
    f"index --input encode/{SPADE} --output index/{SPADE}",
    f"index --bm25 --corpus {CORPUS} --output index/{BM25}",
    *(
        f"search --index index/{name} --topics {TOPICS} "
        f"--output runs/run.{name}.{TOPICS}.txt --overwrite"
        for name in (BM25, SPADE)
    ),
    f"evaluate --qrels {TOPICS} --run runs/run.{BM25}.{TOPICS}.txt runs/run.{SPADE}.{TOPICS}.txt",
)


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade demo``."""
    description = "Encode, index, search and score the documentation of Python's standard library."
    return arguments.new_parser("demo", description, "spade demo")


def run(options: argparse.Namespace) -> None:
    """Run all steps, then print a table of results, three example queries and the commands."""
    for step in STEPS:
        print(f"\n$ spade {step}", flush=True)
        name, *words = shlex.split(step)
        call(name, words)
    _print_results()
    _print_examples()
    print("\nThe commands of this demo:")
    for step in STEPS:
        print(f"  spade {step}")
    print(f'  spade search --index index/{SPADE} --query "YOUR WORDS"')


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
        scores = evaluate_run(qrels, read_run(f"runs/run.{name}.{TOPICS}.txt"), measures)
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
        "\nms/query: tokenizing and searching 1,000 hits with one thread, mean over the topics in "
        "a second pass."
    )
    if not VectorManifest.load(Path("encode", SPADE)).trained:
        print("This SpaDE model is UNTRAINED: its row says nothing about effectiveness.")


def _latency(searcher: ImpactSearcher | Bm25Searcher, topics: list[Topic]) -> float:
    """Milliseconds per query, one query at a time, measured after a pass that warms the JVM."""
    for _ in range(2):
        start = time.perf_counter()
        for topic in topics:
            searcher.search(topic.text, 1000)
    return (time.perf_counter() - start) / len(topics) * 1000


def _print_examples() -> None:
    """Print the best documents of three topics and the impacts of the terms that match."""
    from spade_pyserini.corpora import open_corpus
    from spade_pyserini.corpora.qrels import read_qrels
    from spade_pyserini.corpora.topics import read_topics
    from spade_pyserini.search import ImpactSearcher

    documents = {document.docid: document for document in open_corpus(CORPUS)}
    qrels = read_qrels(TOPICS)
    with ImpactSearcher(f"index/{SPADE}") as searcher:
        for topic in read_topics(TOPICS):
            if topic.qid not in EXAMPLES:
                continue
            print(f"\n{topic.text!r}: {' '.join(searcher.wordpieces.query_terms(topic.text))}")
            for rank, hit in enumerate(searcher.search(topic.text, 3), start=1):
                grade = qrels[topic.qid].get(hit.docid)
                judgement = "not judged" if grade is None else f"grade {grade}"
                line = documents[hit.docid].text.split("\n")[0]
                print(f"  {rank}. {hit.docid} ({judgement}, score {hit.score:g}): {line[:70]}")
                matches = searcher.matched_terms(topic.text, hit.docid)
                print("     " + "  ".join(f"{term}:{impact}" for term, impact in matches.items()))


if __name__ == "__main__":
    import sys

    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("demo"))
