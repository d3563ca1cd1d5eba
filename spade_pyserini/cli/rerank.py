"""``python -m spade_pyserini.rerank``: the top of a run, put in order by a cross-encoder."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini.baselines.rerank import DEPTHS, rerank, top_docids
from spade_pyserini.cli import command
from spade_pyserini.errors import InputError
from spade_pyserini.models.cross_encoder import load_cross_encoder
from spade_pyserini.progress import progress_bar
from spade_pyserini.records import Ranking

MODULE = "spade_pyserini.rerank"
EXAMPLE = """python -m spade_pyserini.rerank --run runs/run.pydoc.bm25.pydoc-test.txt \\
      --corpus pydoc --topics pydoc/test --qrels pydoc/test \\
      --model cross-encoder/ms-marco-MiniLM-L6-v2"""


def main(arguments: list[str]) -> None:
    parser = command.parser(MODULE, "Re-rank a TREC run with a cross-encoder.", EXAMPLE)
    add = parser.add_argument
    add("--run", required=True, metavar="FILE", help="the first stage, a TREC run")
    add("--topics", required=True, metavar="NAME|FILE", help="the topics of the run")
    add("--corpus", required=True, metavar="NAME|PATH", help="the corpus of the run")
    add("--model", required=True, metavar="NAME|DIR", help="a cross-encoder: hub name or folder")
    add(
        "--depth",
        type=command.positive,
        nargs="+",
        default=DEPTHS,
        metavar="N",
        help="hits re-ranked",
    )
    add(
        "--output-prefix",
        metavar="PATH",
        help="runs are PATH.rerank-N.txt (default: the run's path without .txt)",
    )
    add("--qrels", metavar="NAME|FILE", help="print MRR@10 by depth on these judgements")
    add("--max-length", type=command.positive, metavar="N", help="tokens of a pair (default: all)")
    add("--batch-size", type=command.positive, default=32, metavar="N", help="pairs per batch")
    add("--overwrite", action="store_true", help="replace existing runs")
    command.add_data_dir(parser)
    options = parser.parse_args(arguments)
    command.log_to_stderr(options.verbose)

    from spade_pyserini.corpora import open_corpus
    from spade_pyserini.corpora.topics import read_topics
    from spade_pyserini.formats.files import refuse_existing, safe_file_name
    from spade_pyserini.search import read_run, write_run

    prefix = options.output_prefix or options.run.removesuffix(".gz").removesuffix(".txt")
    outputs = {depth: Path(f"{prefix}.rerank-{depth}.txt") for depth in options.depth}
    for output in outputs.values():
        refuse_existing(output, options.overwrite)
    run = read_run(options.run)
    if not run:
        raise InputError("the run is empty", options.run)
    if options.qrels:
        _table(options.qrels, {"first stage": run})  # judgements that do not fit fail here
    topics = read_topics(options.topics)
    score = load_cross_encoder(options.model, options.max_length, options.batch_size)
    corpus = progress_bar(open_corpus(options.corpus), "reading", "documents")
    wanted = set(top_docids(run, max(options.depth)))
    documents = {one.docid: one.contents for one in corpus if one.docid in wanted}
    reranked = rerank(run, topics, documents, score, options.depth)
    for depth, rankings in reranked.items():
        write_run(rankings, outputs[depth], safe_file_name(options.model), options.overwrite)
        print(outputs[depth])
    if options.qrels:
        names = {f"rerank-{depth}": rankings for depth, rankings in reranked.items()}
        print(_table(options.qrels, {"first stage": run, **names}))


def _table(name: str, runs: dict[str, list[Ranking]]) -> str:
    """MRR@10 by depth, as in the paper's Table 4."""
    from spade_pyserini.corpora.qrels import read_qrels, relevance_level
    from spade_pyserini.evaluate import compare_runs, parse_measures
    from spade_pyserini.evaluate.conventions import conventions
    from spade_pyserini.formats.tables import render

    qrels, level = read_qrels(name), relevance_level(name)
    found = compare_runs(qrels, runs, parse_measures(["MRR@10"]), level=level)
    first = dict([next(iter(runs.items()))])
    return f"{render(found.header(), found.rows())}\n{conventions(qrels, first, level=level)}"


if __name__ == "__main__":
    command.run(main)
