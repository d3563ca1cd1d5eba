"""The report of a training run: a figure of losses and MRR@10, and the card of its model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.tables import text_table
from spade_pyserini.models.card import card_licence, front_matter, origin_folder
from spade_pyserini.train.log import read_log
from spade_pyserini.train.recipe import Recipe

PARTS = (
    *("_ranking", "_pointwise", "_flops", "_l1", "_distillation"),
    *("_regression", "_likelihood", "_gates"),
)


def draw_curves(run: Path) -> Path:
    """Write ``curves.png``: the losses above, MRR@10 below. Returns the path of the file."""
    steps, validations = read_log(run, "step"), read_log(run, "validation")
    figure = Figure(figsize=(8, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    numbers = [line["step"] for line in steps]
    for name in sorted({key for line in steps for key in line if key.endswith(PARTS)}):
        above.plot(numbers, [line.get(name) for line in steps], label=name.replace("_", ", "))
    above.set_ylabel("loss")
    above.legend()
    for alpha in ("0", "0.5", "1"):  # only SpaDE has alphas
        lines = [line for line in validations if alpha in line.get("by_alpha", {})]
        if not lines:
            continue
        values = [line["by_alpha"][alpha] for line in lines]
        below.plot([line["step"] for line in lines], values, label=f"alpha {alpha}", alpha=0.6)
    best = [line["mrr"] for line in validations]
    below.plot([line["step"] for line in validations], best, "o-", label="best")
    below.set(xlabel="step", ylabel="MRR@10 on dev", ylim=(0, None))
    below.legend()
    path = run / "curves.png"
    with atomic_write(path) as stream:
        figure.savefig(stream, dpi=150, format="png")
    return path


def write_card(run: Path, recipe: Recipe, best: dict[str, Any]) -> Path:
    """Write ``README.md`` of the model: its training data, settings and figures.

    ``best["step"]`` is the step whose validation figures are written. ``best`` is empty if the
    model was not validated.
    """
    # Collections are listed above the table of settings.
    settings = [
        [name, str(value)]
        for name, value in recipe.flat().items()
        if value is not None and not name.endswith(".collections")
    ]
    figures, description = "It was not validated.", _description(recipe)
    qrels = ", ".join(f"`{collection.qrels}`" for collection in recipe.dev_collections)
    for line in read_log(run, "validation"):
        if best and line["step"] == best["step"]:
            alpha = f"alpha {line['alpha']:g}, " if "alpha" in line else ""
            figures = (
                f"MRR@10 {line['mrr']:.4f} and nDCG@10 {line['ndcg']:.4f} on {qrels} "
                f"at {alpha}step {line['step']}, exact float scores; "
                f"{line['terms']:.1f} terms per document. "
                f"The {description['selected']} selected on the same queries."
            )
    data = [
        f"- Trained on the queries `{collection.queries}` with "
        f"`{collection.qrels or collection.triples or collection.negatives}`, documents "
        f"`{collection.corpus}`."
        for collection in recipe.training_collections
    ]
    init, backbone = recipe.model.init, recipe.model.backbone
    licence = _licence(init)
    terms = f" (licence: {licence})" if licence else ""
    card = CARD.format(
        **description,
        licence=front_matter(licence),
        start=f"Backbone: `{backbone}`" if init is None else f"Trained from `{init}`{terms}",
        length=recipe.model.encode_length or recipe.model.max_length,
        data="\n".join(data),
        figures=figures,
        settings=text_table(["setting", "value"], settings, left=(0, 1)),
    )
    path = run / "best" / "README.md"
    with atomic_write(path) as stream:
        stream.write(card.encode())
    return path


def _description(recipe: Recipe) -> dict[str, str]:
    """The parts of the card that depend on the system."""
    if not (system := recipe.model.system):
        kind = {"tag": "SpaDE", "title": "A SpaDE model", "selected": "checkpoint and alpha were"}
        return {**kind, "about": SPADE, "further": ", inference-free"}
    about = f"A model of the system {system} for sparse retrieval, see the guide to models."
    kind = {"tag": system, "title": f"A model of the system {system}", "further": ""}
    return {**kind, "selected": "checkpoint was", "about": f"{about} Trained with `spade train`."}


def _licence(init: str | None) -> str | None:
    """Return the licence on the card of the model that training started from, or None."""
    folder = origin_folder(init)
    return card_licence(folder) if folder else None


SPADE = """\
Two document encoders, term weighting and term expansion, for sparse retrieval without a model at
query time. Trained with `spade train`."""
CARD = """\
---
{licence}
library_name: spade_pyserini
tags: [sparse-retrieval, learned-sparse{further}, {tag}]
---

# {title}

{about}

- {start}; its licence and the licence of the training data apply to this model.
{data}
- Validation: {figures}

    spade encode --corpus MY-CORPUS --model THIS-FOLDER

The first {length} WordPieces of a document are read; `--segment` divides longer documents.

## Recipe

```
{settings}
```
"""
