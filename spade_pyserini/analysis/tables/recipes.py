"""The recipe of a row: the settings of its system, with the data and the budget of the table."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spade_pyserini.analysis.tables.spec import BASE, Row, Table
from spade_pyserini.errors import InputError, UsageError
from spade_pyserini.models.hub import resolve_model
from spade_pyserini.train.recipe import Recipe, load_recipe

STEPS = 100  # default number of training steps of each system
SHAPE = ("adapter_rank", "adapter_layers", "decoder_rank")  # sizes in a SpaDE model's config.json


@dataclass(frozen=True)
class Budget:
    """The training settings that are the same for all systems.

    steps: number of training steps. seed: random seed. start: a SpaDE model; all systems start from
    its encoders. If it is None, all systems start from the backbone with new heads.
    """

    steps: int = STEPS
    seed: int = 0
    start: str | None = None

    def __post_init__(self) -> None:
        if self.steps < 2:
            raise UsageError(f"the number of steps must be 2 or more, not {self.steps}")


def row_recipe(table: Table, row: Row, budget: Budget) -> Recipe:
    """Return the recipe of a row.

    It is the recipe of the table with these changes: a setting whose value differs between the
    system's own recipe and the recipe `BASE` gets the value of the system's own recipe. Numbers of
    steps (warm-up, pruning period, validation interval) are multiplied by the steps of the budget
    and divided by the steps of `BASE`.
    """
    recipe = load_recipe(table.recipe)
    own, base = load_recipe(row.recipe).flat(), load_recipe(BASE).flat()
    changes: dict[str, Any] = {name: x for name, x in own.items() if x != base[name]}
    scale = budget.steps / load_recipe(BASE).optimization.steps
    settings = recipe.change(**changes)
    scaled = {
        "warmup_steps": round(settings.optimization.warmup_steps * scale),
        "period": max(1, round(settings.pruning.period * scale)),
        "validate_every": max(1, round(settings.validation.validate_every * scale)),
    }
    changes |= {"steps": budget.steps, "seed": budget.seed, **scaled}
    if budget.start is not None:
        changes |= _start(budget.start, bool(settings.model.system))
    return recipe.change(**changes)


def _start(model: str, other_system: bool) -> dict[str, Any]:
    """Return the settings that start training from a SpaDE model: ``init`` and the sizes `SHAPE`.

    The sizes are those of the model. For a row that is not SpaDE (``other_system``), however,
    ``decoder_rank`` is 0, because only SpaDE trains the low-rank part of the output weights.
    """
    path = resolve_model(model) / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        shape = {name: config.get(name, 0) for name in SHAPE}
    except (ValueError, AttributeError) as error:
        raise InputError(
            f"not the settings of a SpaDE model ({error}); give the folder of a SpaDE model", path
        ) from None
    if other_system:
        shape["decoder_rank"] = 0
    return {"init": model, **shape}


def with_expansions(recipe: Recipe, files: dict[str, Path]) -> Recipe:
    """Return the recipe with expanded documents; ``files`` maps a corpus to its expansions."""

    def expanded(collection: Any) -> Any:
        return replace(collection, expansions=str(files[collection.corpus]))

    data = tuple(map(expanded, recipe.training_collections))
    validation = tuple(map(expanded, recipe.dev_collections))
    return replace(
        recipe,
        data=replace(recipe.data, collections=data),
        validation=replace(recipe.validation, collections=validation),
    )
