"""``spade train``: train a model with a recipe."""

from __future__ import annotations

import argparse

from spade_pyserini.cli import arguments

EXAMPLE = """spade train --recipe mini --set corpus=my-corpus/ \\
      --set queries=queries.tsv --set qrels=qrels.txt --output my-model"""


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade train``."""
    parser = arguments.new_parser("train", "Train the dual encoder with a recipe.", EXAMPLE)
    add = parser.add_argument
    add("--recipe", required=True, metavar="NAME|FILE", help="paper, mini, smoke, or a .toml file")
    add(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a setting of the recipe; may be repeated",
    )
    arguments.add_data_dir(parser)
    add("--output", required=True, metavar="DIR", help="folder of the run; the model is DIR/best")
    add(
        "--stage",
        choices=("mine", "head", "queries", "requests", "train"),
        default="train",
        help="mine: write runs of BM25 into DIR, for the settings `negatives` and `dev_pool`; "
        "head: fit a masked-LM head on the corpus, DIR/best is for the setting `init`; "
        "queries: start the expansion head from a dense bi-encoder, DIR/best likewise; "
        "requests: learn weights of words around queries for the model `init`",
    )
    add("--resume", action="store_true", help="continue after the last checkpoint in DIR")
    return parser


def run(options: argparse.Namespace) -> None:
    """Run a stage and print the paths that it wrote."""
    from spade_pyserini.train import (
        fit_head,
        fit_query_head,
        fit_request_weights,
        load_recipe,
        mine_negatives,
        train,
    )

    recipe = load_recipe(options.recipe).with_settings(options.set)
    if options.stage == "mine":
        print(*mine_negatives(recipe, options.output), sep="\n")
    elif options.stage == "head":
        print(fit_head(recipe, options.output, resume=options.resume))
    elif options.stage == "queries":
        print(fit_query_head(recipe, options.output, resume=options.resume))
    elif options.stage == "requests":
        print(fit_request_weights(recipe, options.output, resume=options.resume))
    else:
        print(train(recipe, options.output, resume=options.resume))
