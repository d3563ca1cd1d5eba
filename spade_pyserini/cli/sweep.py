"""``spade sweep``: measure effectiveness and cost for several alpha, gamma, k and prune_ratio."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from spade_pyserini.cli import arguments
from spade_pyserini.cli.queries import query_model
from spade_pyserini.errors import UsageError

EXAMPLE = """spade encode --corpus pydoc --output encode/pydoc.components --components
  spade sweep --components encode/pydoc.components --topics pydoc/dev \\
      --qrels pydoc/dev --measure MRR@10 nDCG@10 --output sweep/pydoc"""


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade sweep``."""
    description = (
        "Measure effectiveness, latency and index size for several values of alpha, gamma, k and "
        "prune_ratio."
    )
    parser = arguments.new_parser("sweep", description, EXAMPLE)
    add = parser.add_argument
    add(
        "--components",
        required=True,
        metavar="DIR",
        help="vectors written by `spade encode --components`",
    )
    arguments.add_topics(parser, required=True)
    arguments.add_judgements(parser)
    add(
        "--alpha",
        type=float,
        nargs="+",
        metavar="A",
        help="weights of term expansion (default: 0 to 1 in steps of 0.1)",
    )
    add(
        "--gamma",
        type=float,
        nargs="+",
        default=[1.0],
        metavar="G",
        help="remove terms that are in more than this share of the expansion vectors; 1 keeps all",
    )
    add(
        "--k",
        type=arguments.positive,
        nargs="+",
        help="expansion terms per token (default: the k with which the components were encoded); "
        "for another k, the documents of --corpus are encoded again with --model",
    )
    add(
        "--prune-ratio",
        type=float,
        nargs="+",
        default=[],
        metavar="R",
        help="drop terms below this fraction of the largest weight of their document (default: the "
        "ratio with which the components were encoded)",
    )
    arguments.add_corpus(
        parser, summary="with --k: the corpus from which the components were encoded"
    )
    add(
        "--pool",
        nargs="+",
        metavar="RUN[:N]|QRELS",
        help="with --k: the values of --pool with which the components were encoded",
    )
    add("--model", metavar="NAME|PATH", help="with --k: the model that encoded the components")
    add(
        "--query-encoder",
        metavar="NAME|PATH",
        help="the model that encodes queries, for components that need one; the time of the "
        "model is part of the latency",
    )
    add("--output", required=True, metavar="DIR", help="folder for sweep.csv, plots and runs")
    add("--overwrite", action="store_true", help="discard the results of earlier calls")
    return parser


def run(options: argparse.Namespace) -> None:
    """Measure every combination of settings and print the table."""
    if not bool(options.k) == bool(options.corpus) == bool(options.model):
        raise UsageError("give --k, --corpus and --model together, or none of them")
    if options.pool and not options.corpus:
        raise UsageError("--pool applies only with --corpus NAME|PATH")
    if not options.verbose:  # the sweep itself logs a line for each setting
        logging.getLogger("spade_pyserini.index").setLevel(logging.ERROR)

    from spade_pyserini.corpora import apply_transforms
    from spade_pyserini.formats.vector_manifest import VectorManifest
    from spade_pyserini.models.systems.recognise import check_model

    # Check names before loading torch, which takes seconds.
    qrels, level = arguments.read_judgements(options)
    topics = arguments.read_topics(options)
    VectorManifest.load(Path(options.components))
    corpus = None
    if options.corpus:
        corpus = arguments.open_corpus(options)
        corpus = apply_transforms(corpus, pool=options.pool, data_dir=options.data_dir)
        check_model(options.model)

    from spade_pyserini.analysis.sweep import Origin, SweepOptions, sweep
    from spade_pyserini.analysis.sweep.options import ALPHAS
    from spade_pyserini.evaluate import DEFAULT_MEASURES, parse_measures
    from spade_pyserini.models.systems.loading import load_encoder

    origin = Origin(corpus, load_encoder(options.model)) if corpus else None
    settings = SweepOptions(
        alpha=options.alpha or ALPHAS,
        gamma=options.gamma,
        k=options.k or (),
        prune_ratio=options.prune_ratio,
        measures=parse_measures(options.measure) if options.measure else DEFAULT_MEASURES,
        level=level,
        overwrite=options.overwrite,
        queries=query_model(options),
    )
    results = sweep(options.components, topics, qrels, options.output, settings, origin)
    print(results.table())


if __name__ == "__main__":
    import sys

    from spade_pyserini.cli.main import main_of_module

    sys.exit(main_of_module("sweep"))
