"""How a run begins: its folder belongs to one recipe, and the model is fresh or a given one."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from accelerate.state import AcceleratorState
from torch import nn

from spade_pyserini.errors import OutputExistsError, UsageError, describe_differences
from spade_pyserini.formats.files import lock, read_json_file, write_json
from spade_pyserini.models import SpadeConfig, SpadeModel
from spade_pyserini.train.beyond.inflections import word_forms
from spade_pyserini.train.recipe import Recipe

logger = logging.getLogger(__name__)
RECIPE = "recipe.json"
FINISHED = "finished"  # a file of a run that has nothing left to do
SHAPE = ("adapter_rank", "adapter_layers", "decoder_rank")  # which tensors there are


def start_accelerator(recipe: Recipe, *, alone: bool = False) -> Accelerator:
    """Devices, processes and precision; a second run of this process may want another one.

    ``alone`` is for stages that one process does.
    """
    AcceleratorState._reset_state()
    accelerator = Accelerator(mixed_precision=recipe.precision)
    if alone and accelerator.num_processes > 1:
        raise UsageError("this stage is done by one process; start it without a launcher")
    return accelerator


def run_stage(
    stage: str,
    work: Callable[[Recipe, Path], None],
    recipe: Recipe,
    output: str | Path,
    resume: bool,
) -> Path:
    """Do ``work`` in a run's folder, unless it is done already; returns the folder of its model.

    One run at a time may write there: of several processes of a run, the main one has the lock.
    """
    run, is_main = Path(output), start_accelerator(recipe).is_main_process
    with lock(run) if is_main else nullcontext():
        if not _is_finished(run, stage, recipe, resume):
            work(recipe, run)
            if is_main:
                (run / FINISHED).touch()
    return run / "best"


def _is_finished(run: Path, stage: str, recipe: Recipe, resume: bool) -> bool:
    """Whether nothing is left to do; a folder of another recipe or stage is refused.

    The first thing to ask: to read the data takes longer.
    """
    if not (run / RECIPE).exists():
        return False
    if not resume:
        raise OutputExistsError(f"{run} holds a run already; pass --resume to go on with it")
    usual, new = (json.loads(json.dumps(_told(stage, one))) for one in (Recipe(), recipe))
    old = {**usual, **read_json_file(run / RECIPE)}  # settings may have come since it was begun
    if old != new:
        shown = describe_differences(old, new)
        raise OutputExistsError(f"{run} was begun with another recipe ({shown})")
    if (run / FINISHED).exists():
        logger.info("%s is finished", run)
        return True
    return False


def _told(stage: str, recipe: Recipe) -> dict[str, Any]:
    return {"stage": stage, **recipe.as_json()}


def claim(run: Path, stage: str, recipe: Recipe, accelerator: Accelerator) -> None:
    """Write the recipe into the run's folder, once all it names was found.

    A recipe that fails before that leaves the folder to a better one.
    """
    accelerator.wait_for_everyone()  # nobody may still be asking whether there is a run
    if accelerator.is_main_process:
        write_json(run / RECIPE, _told(stage, recipe))
    accelerator.wait_for_everyone()


def start_model(recipe: Recipe) -> SpadeModel:
    """The recipe's backbone with fresh heads, or the model that it starts from."""
    if recipe.init is None:
        config = SpadeConfig(
            k=recipe.k,
            max_length=recipe.max_length,
            pooling=recipe.pooling,
            saturate=bool(recipe.saturate),
            **{name: getattr(recipe, name) for name in SHAPE},
        )
        model = SpadeModel.from_backbone(recipe.backbone, config, recipe.seed)
        model.weighting.start_at(recipe.weighting_bias)
    else:
        model = SpadeModel.from_pretrained(recipe.init, merge=False)
        for name in SHAPE:
            asked, found = getattr(recipe, name), getattr(model.config, name)
            if asked != found:
                raise UsageError(f"recipe: {name} is {asked}, but {found} in {recipe.init}")
        if model.config.shared_backbone:
            raise UsageError(f"recipe: {recipe.init} is untrained; name its backbone instead")
        model.reconfigure(k=recipe.k, max_length=recipe.max_length, pooling=recipe.pooling)
        if recipe.saturate is not None:
            model.reconfigure(saturate=recipe.saturate)
    if recipe.forms is not None:
        known = model.forms
        if recipe.forms and known is None:
            known = word_forms(model.wordpieces, len(model.kept))
        model.use_forms(recipe.forms, known)
    for length in (recipe.encode_length or recipe.max_length, recipe.max_length):
        model.reconfigure(max_length=length)
        model.check_length()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = recipe.dropout
    return model
