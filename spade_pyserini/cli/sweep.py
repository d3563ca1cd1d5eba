"""``python -m spade_pyserini.sweep``: how good, how fast and how large over alpha, gamma and k."""

from __future__ import annotations

import logging
from pathlib import Path

from spade_pyserini.cli import command
from spade_pyserini.errors import UsageError

MODULE = "spade_pyserini.sweep"
EXAMPLE = """python -m spade_pyserini.encode --corpus pydoc --output encode/pydoc.spade --components
  python -m spade_pyserini.sweep --components encode/pydoc.spade --topics pydoc-dev \\
      --qrels pydoc-dev --measure MRR@10 nDCG@10 --output sweep/pydoc"""


def main(arguments: list[str]) -> None:
    description = "Effectiveness, latency and index size over alpha, gamma and k."
    parser = command.parser(MODULE, description, EXAMPLE)
    add = parser.add_argument
    add("--components", required=True, metavar="DIR", help="vectors of encode --components")
    add("--topics", required=True, metavar="NAME|FILE", help="as for spade_pyserini.search")
    command.add_judged(parser)
    add(
        "--alpha",
        type=float,
        nargs="+",
        metavar="A",
        help="shares of term expansion (default: 0 to 1 by 0.1)",
    )
    add(
        "--gamma",
        type=float,
        nargs="+",
        default=[1.0],
        metavar="G",
        help="terms in more than this share of the expansion vectors are removed; 1 keeps all",
    )
    add(
        "--k",
        type=command.positive,
        nargs="+",
        help="expansion terms per token, encoded again with --corpus and --model "
        "(default: that of the components)",
    )
    add("--corpus", metavar="NAME|PATH", help="with --k: the corpus of the components")
    add("--pool", nargs="+", metavar="RUN[:N]|QRELS", help="with --k: as for spade_pyserini.encode")
    add("--model", metavar="NAME|PATH", help="with --k: the model of the components")
    add("--output", required=True, metavar="DIR", help="folder for sweep.csv, figures and runs")
    add("--overwrite", action="store_true", help="forget the settings that were run before")
    options = parser.parse_args(arguments)
    command.log_to_stderr(options.verbose)
    if not bool(options.k) == bool(options.corpus) == bool(options.model):
        raise UsageError("--k, --corpus and --model go together")
    if options.pool and not options.corpus:
        raise UsageError("--pool says which documents of --corpus there are")
    if not options.verbose:  # one line for each setting is enough
        logging.getLogger("spade_pyserini.index").setLevel(logging.ERROR)

    from spade_pyserini.analysis.sweep import sweep
    from spade_pyserini.analysis.sweep.run import ALPHAS
    from spade_pyserini.corpora import apply_transforms, open_corpus
    from spade_pyserini.corpora.topics import read_topics
    from spade_pyserini.evaluate import DEFAULT_MEASURES, parse_measures
    from spade_pyserini.models import SpadeEncoder

    qrels, level = command.judgements(options)
    corpus = (
        apply_transforms(open_corpus(options.corpus), pool=options.pool) if options.corpus else None
    )
    results = sweep(
        options.components,
        read_topics(options.topics),
        qrels,
        Path(options.output),
        alphas=options.alpha or ALPHAS,
        gammas=options.gamma,
        ks=options.k or (),
        measures=parse_measures(options.measure) if options.measure else DEFAULT_MEASURES,
        level=level,
        corpus=corpus,
        model=SpadeEncoder.from_pretrained(options.model) if options.model else None,
        overwrite=options.overwrite,
    )
    print(results.table())


if __name__ == "__main__":
    command.run(main)
