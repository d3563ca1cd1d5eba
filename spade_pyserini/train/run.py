"""The folder of a run: it belongs to one stage and one recipe, and one process writes to it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from accelerate import Accelerator
from accelerate.state import AcceleratorState

from spade_pyserini.errors import OutputExistsError, UsageError, describe_differences
from spade_pyserini.formats.atomic import report_full_disk
from spade_pyserini.formats.json_files import read_json_file, write_json
from spade_pyserini.formats.locks import lock
from spade_pyserini.train.checkpoint import NAME
from spade_pyserini.train.recipe import Recipe, recorded_settings
from spade_pyserini.train.samples import DataDir

logger = logging.getLogger(__name__)
AfterStep = Callable[[int], None]
RECIPE = "recipe.json"
FINISHED = "finished"  # marker file of a run that is complete
STAGE_ALIASES = {"head": "masked-lm", "queries": "term-vectors", "requests": "templates"}


class Run(NamedTuple):
    """One stage with its recipe, in its output folder. Names are looked up below ``data_dir``.

    ``after_step`` is called after each step of training, with the number of the step, from 1.
    """

    stage: str
    recipe: Recipe
    folder: Path
    data_dir: DataDir = None
    after_step: AfterStep | None = None

    def execute(self, work: Callable[[Run], None], *, resume: bool) -> Path:
        """Call ``work`` unless the run is finished; return the folder of its model.

        An interrupted run is continued. With ``resume``, a warning is logged if the folder has no
        run. The main process holds the lock of the folder, so that no other run writes to it.
        """
        is_main = start_accelerator(self.recipe).is_main_process
        with lock(self.folder) if is_main else nullcontext():
            if not self._is_finished(resume):
                with report_full_disk(self.folder):
                    work(self)
                if is_main:
                    (self.folder / FINISHED).touch()
        return self.folder / "best"

    def claim(self, accelerator: Accelerator) -> None:
        """Write the recipe into the folder.

        Stages call this after all inputs are read, so that a run with wrong inputs leaves the
        folder free for a corrected recipe.
        """
        accelerator.wait_for_everyone()  # until all processes have checked for an older run
        if accelerator.is_main_process:
            write_json(self.folder / RECIPE, {"stage": self.stage, **self.recipe.as_json()})
        accelerator.wait_for_everyone()

    def check_recipe(self) -> bool:
        """Return whether the folder has a run of this recipe.

        Raises `OutputExistsError` if the folder has a run of another recipe that may have written
        results. A run that stopped before its first checkpoint has no results, and a new run may
        replace it.
        """
        path = self.folder / RECIPE
        if not path.exists():
            return False
        # Settings that did not exist when the run began have their defaults.
        default, new = (_recorded(self.stage, recipe) for recipe in (Recipe(), self.recipe))
        old = default | recorded_run(read_json_file(path))
        if old == new:
            return True
        if self._has_results(old["stage"]):
            differences = describe_differences(old, {name: new.get(name) for name in old | new})
            message = f"{self.folder} was started with another recipe ({differences})"
            raise OutputExistsError(f"{message}; choose another output")
        return False

    @property
    def has_ended(self) -> bool:
        """Whether the run in the folder is complete."""
        return (self.folder / FINISHED).exists()

    def _has_results(self, old_stage: str) -> bool:
        """Return whether the earlier run in the folder may have written results."""
        names = (NAME, f"{NAME}.old", "best", FINISHED)
        # Other stages save their results under other names.
        return old_stage != "train" or any((self.folder / name).exists() for name in names)

    def _is_finished(self, resume: bool) -> bool:
        """Return whether the run is complete; warn if there is nothing to ``resume``.

        This method is called before the data is read, because reading takes long.
        """
        if not self.check_recipe():
            if (self.folder / RECIPE).exists():
                message = "%s: the earlier run stopped before its first checkpoint; a new one with "
                logger.info(f"{message}the new settings is started", self.folder)
            elif resume:
                logger.warning("%s has no run to resume; a new one is started", self.folder)
            return False
        if self.has_ended:
            logger.info("%s is finished", self.folder)
        return self.has_ended


def recorded_run(values: dict[str, Any]) -> dict[str, Any]:
    """Return the stage and the settings of a run, from the contents of its ``recipe.json``."""
    settings = {name: value for name, value in values.items() if name != "stage"}
    stage = values.get("stage", "train")
    return {"stage": STAGE_ALIASES.get(stage, stage), **recorded_settings(settings)}


def _recorded(stage: str, recipe: Recipe) -> dict[str, Any]:
    return {"stage": stage, **json.loads(json.dumps(recipe.flat()))}


def start_accelerator(recipe: Recipe, *, single_process: bool = False) -> Accelerator:
    """Return the ``Accelerator`` of a run: its device, its processes and the recipe's precision.

    Resets accelerate's global state, because a process can do several runs. With
    ``single_process``, more than one process is an error.
    """
    AcceleratorState._reset_state()
    accelerator = Accelerator(mixed_precision=recipe.optimization.precision)
    if single_process and accelerator.num_processes > 1:
        raise UsageError("this stage runs in a single process; start it without a launcher")
    return accelerator
