"""``spade train``: train a model with a recipe."""

from __future__ import annotations

import argparse

from spade_pyserini.cli import arguments
from spade_pyserini.train.recipe import RECIPES

EXAMPLE = """spade train --recipe mini --set corpus=my-corpus/ \\
      --set queries=my-queries.tsv --set qrels=my-qrels.txt --output my-model"""
# The last three are older names of masked-lm, term-vectors and templates.
STAGES = (
    *("mine", "teach", "masked-lm", "term-vectors", "train", "templates", "settings"),
    *("head", "queries", "requests"),
)


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade train``."""
    parser = arguments.new_parser("train", "Train SpaDE or another system with a recipe.", EXAMPLE)
    add = parser.add_argument
    names = ", ".join(sorted(path.stem for path in RECIPES.glob("*.toml")))
    add("--recipe", required=True, metavar="NAME|FILE", help=f"{names}, or a .toml file")
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
        choices=STAGES,
        metavar="STAGE",
        default="train",
        help="mine: write BM25 runs into DIR, for the settings `negatives` and `dev_pool`; "
        "teach: write the scores of teachers into DIR, for the settings `teacher` and `negatives`; "
        "masked-lm: fit a masked-LM head on the corpus; "
        "term-vectors: initialize the expansion head from a dense bi-encoder; "
        "train: warm-up and fine-tuning; "
        "templates: learn weights for the words of query templates; "
        "settings: choose alpha and the pruning ratio of a model. After masked-lm or term-vectors, "
        "pass DIR/best as the setting `init` to train",
    )
    add(
        "--resume",
        action="store_true",
        help="warn if DIR has no interrupted run; with or without this option, an interrupted run "
        "is continued",
    )
    return parser


def run(options: argparse.Namespace) -> None:
    """Run a stage and print the paths that it wrote."""
    from spade_pyserini.train.inputs import check_inputs
    from spade_pyserini.train.recipe import load_recipe

    recipe = load_recipe(options.recipe).with_settings(options.set)
    check_inputs(recipe, options.data_dir)

    from spade_pyserini.train import run_stage

    paths = run_stage(
        options.stage, recipe, options.output, resume=options.resume, data_dir=options.data_dir
    )
    print(*paths, sep="\n")
