"""Choose alpha and the pruning ratio of a trained model on dev collections.

    spade train --stage settings --recipe my-final.toml --data-dir DIR --output runs/train.final

The stage measures every combination of the recipe's ``alphas`` and ``prune_ratios``: the mean
nDCG@10 over the validation collections, and the mean number of terms in a document. Of all
combinations whose nDCG@10 is at most ``tolerance`` below the best nDCG@10, the stage chooses the
combination with the fewest terms. ``tolerance`` is a share: 0.005 is 0.5 %. ``settings.json`` has
all figures. ``best`` is the model ``init`` with the chosen settings, and with the recipe's settings
``saturate``, ``whole_word_forms``, ``corpus_gamma`` and ``corpus_few``.
"""

from __future__ import annotations

import logging
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import torch

from spade_pyserini.errors import UsageError
from spade_pyserini.formats.json_files import write_json
from spade_pyserini.formats.tables import text_table
from spade_pyserini.models import SpadeModel
from spade_pyserini.train.dev_set import DevSet, Mixture, load_dev_sets
from spade_pyserini.train.initial_model import MODEL_ONLY, refuse_changes, start_model
from spade_pyserini.train.recipe import Recipe
from spade_pyserini.train.run import Run, start_accelerator
from spade_pyserini.train.samples import DataDir
from spade_pyserini.train.selection import ModelSelection
from spade_pyserini.train.validate import ALPHAS, as_shipped

logger = logging.getLogger(__name__)
STAGE = "settings"
RESULTS = "settings.json"


class Measured(NamedTuple):
    """The figures of a combination.

    ndcg, mrr: means over the collections. terms: mean number of terms in a document vector.
    by_collection: nDCG@10 of each collection.
    """

    alpha: float
    prune_ratio: float
    ndcg: float
    mrr: float
    terms: float
    by_collection: dict[str, float]


def choose_settings(
    recipe: Recipe, output: str | Path, *, resume: bool = False, data_dir: DataDir = None
) -> Path:
    """Choose the settings of the model ``init``; returns the folder of the new model."""
    recipe.require("init")
    if not recipe.dev_collections:
        raise UsageError("the recipe names no validation collection; add dev_queries and dev_qrels")
    return Run(STAGE, recipe, Path(output), data_dir).execute(_choose, resume=resume)


def _choose(run: Run) -> None:
    recipe = run.recipe
    accelerator = start_accelerator(recipe, single_process=True)
    model = start_model(recipe).to(accelerator.device)
    refuse_changes(recipe, model, MODEL_ONLY)
    dev = load_dev_sets(recipe, model.wordpieces, run.data_dir)
    run.claim(accelerator)
    figures = measure_all(model, dev, recipe)
    chosen = sparsest(figures, recipe.validation.tolerance)
    _report(run.folder, figures, chosen)
    documents = {f"{part.name} {docid}": text for part in dev for docid, text in part.documents()}
    model = model.with_settings(prune_ratio=chosen.prune_ratio)
    ModelSelection(recipe, run.folder, dev, documents).save(model, chosen.alpha)


@torch.inference_mode()
def measure_all(model: SpadeModel, sets: list[DevSet], recipe: Recipe) -> list[Measured]:
    """Measure all combinations of alpha and pruning ratio."""
    settings = recipe.validation
    mixtures = [
        Mixture(*pair) for pair in product(settings.alphas or ALPHAS, settings.prune_ratios)
    ]
    shipped = as_shipped(model)
    with shipped.expansion.fixed(shipped.kept):
        scores = [dev.scores(shipped, mixtures, recipe.optimization.precision) for dev in sets]
    documents = sum(len(dev.texts) for dev in sets)
    measured = []
    for number, mixture in enumerate(mixtures):
        figures = [
            dev.measure(part.relevance[number]) for dev, part in zip(sets, scores, strict=True)
        ]
        measured.append(
            Measured(
                *mixture,
                ndcg=fmean(ndcg for _, ndcg in figures),
                mrr=fmean(mrr for mrr, _ in figures),
                terms=sum(int(part.terms[number]) for part in scores) / documents,
                by_collection={
                    dev.name: ndcg for dev, (_, ndcg) in zip(sets, figures, strict=True)
                },
            )
        )
    return measured


def sparsest(figures: list[Measured], tolerance: float) -> Measured:
    """Return the combination with the fewest terms, of all combinations within the tolerance."""
    least = (1 - tolerance) * max(measured.ndcg for measured in figures)
    good = [measured for measured in figures if measured.ndcg >= least]
    return min(good, key=lambda measured: (measured.terms, -measured.ndcg))


def _report(folder: Path, figures: list[Measured], chosen: Measured) -> None:
    """Write all figures to ``settings.json`` and log them as a table."""
    write_json(
        folder / RESULTS,
        {"chosen": chosen._asdict(), "measured": [measured._asdict() for measured in figures]},
    )
    rows = [
        [
            f"{measured.alpha:g}",
            f"{measured.prune_ratio:g}",
            f"{measured.ndcg:.4f}",
            f"{measured.terms:.0f}",
            "chosen" if measured == chosen else "",
        ]
        for measured in figures
    ]
    header = ["alpha", "prune_ratio", "nDCG@10", "terms", ""]
    logger.info("%s", text_table(header, rows))
