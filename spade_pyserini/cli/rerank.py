"""``spade rerank``: re-rank the first hits of a run with a cross-encoder."""

from __future__ import annotations

import argparse
from pathlib import Path

from spade_pyserini.baselines.rerank import DEPTHS, rerank, top_docids
from spade_pyserini.cli import arguments
from spade_pyserini.errors import InputError
from spade_pyserini.progress import progress_bar
from spade_pyserini.records import Ranking

EXAMPLE = """spade rerank --run runs/run.pydoc.bm25.pydoc-test.txt \\
      --corpus pydoc --topics pydoc/test --qrels pydoc/test \\
      --model cross-encoder/ms-marco-MiniLM-L6-v2"""


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade rerank``."""
    parser = arguments.new_parser("rerank", "Re-rank a TREC run with a cross-encoder.", EXAMPLE)
    add = parser.add_argument
    add("--run", required=True, metavar="FILE", help="the TREC run to re-rank")
    arguments.add_topics(parser, required=True, summary="topics of the run")
    arguments.add_corpus(parser, required=True, summary="corpus of the run")
    add("--model", required=True, metavar="NAME|DIR", help="a cross-encoder: hub name or folder")
    add(
        "--depth",
        type=arguments.positive,
        nargs="+",
        default=DEPTHS,
        metavar="N",
        help="numbers of hits to re-rank; one run is written for each number",
    )
    add(
        "--output-prefix",
        metavar="PATH",
        help="write the runs to PATH.rerank-N.txt (default: the path of --run without .txt)",
    )
    arguments.add_qrels(parser, summary="print MRR@10 by depth for these judgements")
    add(
        "--max-length",
        type=arguments.positive,
        metavar="N",
        help="maximum number of tokens of a query and its document together (default: the model's "
        "value)",
    )
    add("--batch-size", type=arguments.positive, default=32, metavar="N", help="pairs per batch")
    add("--overwrite", action="store_true", help="replace existing runs")
    arguments.add_data_dir(parser)
    return parser


def run(options: argparse.Namespace) -> None:
    """Write a run for each depth, and print its path; with judgements, also print MRR@10."""
    from spade_pyserini.formats.outputs import refuse_existing
    from spade_pyserini.formats.paths import safe_file_name
    from spade_pyserini.models.hub import check_hugging_face
    from spade_pyserini.search import read_run, write_run

    prefix = options.output_prefix or options.run.removesuffix(".gz").removesuffix(".txt")
    outputs = {depth: Path(f"{prefix}.rerank-{depth}.txt") for depth in options.depth}
    for output in outputs.values():
        refuse_existing(output, options.overwrite)
    first_stage = read_run(options.run)
    if not first_stage:
        raise InputError("the run is empty; give a run with hits", options.run)
    if options.qrels:  # if no topic of the run has judgements, this fails before the re-ranking
        _table(options, {"first stage": first_stage})
    else:
        arguments.refuse_fields(options, arguments.QRELS_FIELDS, "--qrels")
    topics = arguments.read_topics(options)
    corpus = arguments.open_corpus(options)
    check_hugging_face("cross-encoder", options.model)

    from spade_pyserini.models.cross_encoder import load_cross_encoder

    score = load_cross_encoder(options.model, options.max_length, options.batch_size)
    docids = set(top_docids(first_stage, max(options.depth)))
    contents = {
        document.docid: document.contents
        for document in progress_bar(corpus, "reading", "documents")
        if document.docid in docids
    }
    reranked = rerank(first_stage, topics, contents, score, options.depth)
    for depth, rankings in reranked.items():
        write_run(rankings, outputs[depth], safe_file_name(options.model), options.overwrite)
        print(outputs[depth])
    if options.qrels:
        runs = {f"rerank-{depth}": rankings for depth, rankings in reranked.items()}
        print(_table(options, {"first stage": first_stage, **runs}))


def _table(options: argparse.Namespace, runs: dict[str, list[Ranking]]) -> str:
    """Return a table of MRR@10 by depth, as in Table 4 of the SpaDE paper."""
    from spade_pyserini.corpora.qrels import relevance_level
    from spade_pyserini.evaluate import compare_runs, parse_measures
    from spade_pyserini.evaluate.conventions import conventions
    from spade_pyserini.formats.tables import render

    qrels = arguments.read_qrels(options)
    level = relevance_level(options.qrels, data_dir=options.data_dir)
    comparison = compare_runs(qrels, runs, parse_measures(["MRR@10"]), level=level)
    first = dict([next(iter(runs.items()))])
    notes = conventions(comparison, qrels, first)
    return f"{render(comparison.header(), comparison.rows())}\n{notes}"


if __name__ == "__main__":
    import sys

    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("rerank"))
