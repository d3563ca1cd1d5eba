"""``python -m spade_pyserini.demo``: the whole road on the built-in corpus, BM25 beside SpaDE."""

from __future__ import annotations

import importlib
import shlex
import time
from pathlib import Path

from spade_pyserini.cli import command
from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.corpora.topics import read_topics
from spade_pyserini.evaluate import evaluate_run, parse_measures
from spade_pyserini.formats.files import folder_bytes
from spade_pyserini.formats.tables import text_table
from spade_pyserini.formats.vectors import VectorManifest
from spade_pyserini.records import Document, Topic
from spade_pyserini.search import Bm25Searcher, ImpactSearcher, open_searcher, read_run

MODULE = "spade_pyserini.demo"
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


def main(arguments: list[str]) -> None:
    parser = command.parser(MODULE, "Encode, index, search and score pydoc.", f"python -m {MODULE}")
    options = parser.parse_args(arguments)
    command.log_to_stderr(options.verbose)
    for step in STEPS:
        _run(step)
    _results()
    _examples()
    print("\nEach step by hand:")
    for step in STEPS:
        print(f"  python -m spade_pyserini.{step}")
    print(f'  python -m spade_pyserini.search --index index/{SPADE} --query "YOUR WORDS"')


def _run(step: str) -> None:
    """Do a step as its command does it."""
    print(f"\n$ python -m spade_pyserini.{step}", flush=True)
    name, *arguments = shlex.split(step)
    importlib.import_module(f"spade_pyserini.cli.{name}").main(arguments)


def _results() -> None:
    """One table: how good, how large, how fast."""
    qrels, topics = read_qrels(TOPICS), read_topics(TOPICS)
    measures = parse_measures(list(MEASURES))
    rows = []
    for title, name in (("BM25", BM25), (f"SpaDE ({MODEL})", SPADE)):
        scores = evaluate_run(qrels, read_run(f"runs/run.{name}.{TOPICS}.txt"), measures)
        with open_searcher(f"index/{name}") as searcher:
            terms = searcher.manifest.postings / searcher.manifest.documents
            milliseconds = _latency(searcher, topics)
        rows.append(
            [
                title,
                *(f"{scores[measure]:.3f}" for measure in measures),
                f"{terms:.1f}",
                f"{folder_bytes(Path('index', name)) / 1e6:.1f}",
                f"{milliseconds:.1f}",
            ]
        )
    header = ["model", *MEASURES, "terms/document", "index MB", "ms/query"]
    print(f"\n{CORPUS}, {len(topics)} test topics\n")
    print(text_table(header, rows))
    print("\nms/query: tokenizing, Lucene and 1,000 hits, one thread, mean of the second pass.")
    if not VectorManifest.load(Path("encode", SPADE)).trained:
        print(
            "The heads of this SpaDE are UNTRAINED: the row shows that the road works, not what "
            "SpaDE can do."
        )


def _latency(searcher: ImpactSearcher | Bm25Searcher, topics: list[Topic]) -> float:
    """Milliseconds a query, one after the other, once the JVM is warm."""
    for _ in range(2):
        start = time.perf_counter()
        for topic in topics:
            searcher.search(topic.text, 1000)
    return (time.perf_counter() - start) / len(topics) * 1000


def _examples() -> None:
    """What a person would look at: three queries, their best documents, and why."""
    from spade_pyserini.corpora import open_corpus

    documents: dict[str, Document] = {found.docid: found for found in open_corpus(CORPUS)}
    qrels = read_qrels(TOPICS)
    with ImpactSearcher(f"index/{SPADE}") as searcher:
        for topic in read_topics(TOPICS):
            if topic.qid not in EXAMPLES:
                continue
            print(f"\n{topic.text!r}: {' '.join(searcher.wordpieces.query_terms(topic.text))}")
            for rank, hit in enumerate(searcher.search(topic.text, 3), start=1):
                grade = qrels[topic.qid].get(hit.docid)
                judged = "not judged" if grade is None else f"grade {grade}"
                first = documents[hit.docid].text.split("\n")[0]
                print(f"  {rank}. {hit.docid} ({judged}, score {hit.score:g}): {first[:70]}")
                matched = searcher.matched_terms(topic.text, hit.docid)
                print("     " + "  ".join(f"{term}:{impact}" for term, impact in matched.items()))


if __name__ == "__main__":
    command.run(main)
