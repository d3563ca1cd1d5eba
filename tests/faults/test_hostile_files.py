"""Commands that read hostile files end with exit code 0, 1 or 2, without a traceback.

They must also keep within limits of time and memory. The generators of hostile files are checked,
too: their files must cause several different errors, and some files must be accepted.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as hypothesis_seed
from hypothesis import strategies as st

from spade_pyserini.train import Recipe
from tests.analysis.condition_files import entry
from tests.faults import hostile, hostile_files
from tests.faults.budget import LEAST, Budget
from tests.faults.scenarios import Inputs
from tests.faults.supervisor import Limits, Outcome, Supervisor
from tests.faults.table import Faults

SECONDS = 120.0
MEGABYTES = 2000  # memory limit of a command; after all imports, a process uses 500 MB
ENCODE = "encode --corpus {corpus} --model m --output out"
ENOUGH = 30  # with fewer examples, a generator is not checked
LEAST_MESSAGES = 4  # number of different error messages that a generator must cause


class Attack:
    """Runs commands on hostile files, in a folder that is removed before the next command."""

    def __init__(
        self, supervisor: Supervisor, inputs: Inputs, faults: Faults, budget: Budget, folder: Path
    ) -> None:
        self.supervisor, self.inputs, self.faults = supervisor, inputs, faults
        self.budget, self.folder = budget, folder

    def run(self, kind: str, command: str, files: dict[str, bytes], **paths: Path) -> None:
        """Write the files, run the command, and record how it ended."""
        folder = self.folder / "attack"
        shutil.rmtree(folder, ignore_errors=True)
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        words = [word.format(**vars(self.inputs), **paths) for word in command.split()]
        limits = Limits(SECONDS, 4 * MEGABYTES)
        done = self.supervisor.run(words, folder, supervised=False, limits=limits)
        shown = ", ".join(f"{name} {content[:300]!r}" for name, content in files.items())
        problem = _problem(done)
        repeat = f"pytest tests/faults/test_hostile_files.py -k '{kind.replace(', ', ' and ')}'"
        problem = problem and f"{problem}: spade {command}, {shown}"
        self.faults.record(f"hostile {kind}", problem, repeat)
        self.faults.record_end(f"hostile {kind}", done.code, done.err)

    def try_all(
        self, kind: str, examples: int, strategy: st.SearchStrategy[Any], use: Callable[[Any], None]
    ) -> None:
        """Call ``use`` with ``examples`` examples, and fail if one of them broke a command."""
        name = f"hostile {kind}"
        tried: list[bool] = []

        @hypothesis_seed(self.faults.seed)
        @settings(
            max_examples=examples,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(strategy)
        def attempt(example: Any) -> None:
            if len(tried) < LEAST or not self.budget.is_over:
                tried.append(True)
                use(example)

        attempt()
        self.faults.record_left(name, examples - len(tried))
        assert not self.faults.problems(name), self.faults.table()
        if len(tried) >= ENOUGH:
            messages, codes = self.faults.messages[name], self.faults.codes[name]
            assert len(messages) >= LEAST_MESSAGES and codes[0], f"shallow: {codes}, {messages}"


def _problem(done: Outcome) -> str | None:
    if done.code not in (0, 1, 2):
        return f"exit code {done.code}, {done.err.strip()[-700:]!r}"
    if "Traceback" in done.err:
        return f"a traceback: {done.err.strip()[-700:]!r}"
    if done.code and "error" not in done.err:
        return f"exit code {done.code} without a message: {done.err.strip()[-300:]!r}"
    if done.megabytes > MEGABYTES:
        return f"it used {done.megabytes:.0f} MB of memory"
    return None


@pytest.fixture
def attack(
    supervisor: Supervisor, inputs: Inputs, faults: Faults, budget: Budget, tmp_path: Path
) -> Attack:
    return Attack(supervisor, inputs, faults, budget, tmp_path.resolve())


EXAMPLES = [4, pytest.param(100, marks=pytest.mark.slow)]
MORE = [4, pytest.param(300, marks=pytest.mark.slow)]  # numbers of examples for faster commands


@pytest.mark.parametrize("examples", EXAMPLES)
def test_corpora(attack: Attack, examples: int) -> None:
    def use(example: tuple[str, bytes]) -> None:
        name, content = example
        command = f"encode --corpus {name} --model {{model}} --output out"
        attack.run("corpora", command, {name: content})

    attack.try_all("corpora", examples, hostile_files.CORPORA, use)


@pytest.mark.parametrize("examples", MORE)
def test_topics(attack: Attack, examples: int) -> None:
    def use(example: tuple[str, bytes]) -> None:
        name, content = example
        command = f"topics --topics {name} --tokenizer {{model}} --output out.tsv"
        attack.run("topics", command, {name: content})

    attack.try_all("topics", examples, hostile_files.TOPICS, use)


@pytest.mark.parametrize("examples", MORE)
def test_qrels(attack: Attack, examples: int) -> None:
    def use(qrels: bytes) -> None:
        attack.run("qrels", "evaluate --qrels q.txt --run {run}", {"q.txt": qrels})

    attack.try_all("qrels", examples, hostile_files.QRELS, use)


@pytest.mark.parametrize("examples", MORE)
def test_runs(attack: Attack, examples: int) -> None:
    commands = (
        "evaluate --qrels {qrels} --run r.txt",
        "fuse --run r.txt {run} --output out.txt",
        "report --qrels {qrels} --run r.txt {run} --output out.html",
        "compare {run} r.txt --qrels {qrels}",
    )

    def use(example: tuple[str, bytes]) -> None:
        command, run = example
        attack.run("runs", command, {"r.txt": run})

    examples_of_both = st.tuples(st.sampled_from(commands), hostile_files.RUNS)
    attack.try_all("runs", examples, examples_of_both, use)


def try_models(attack: Attack, kind: str, examples: int, model: Path, command: str) -> None:
    """Run a command on mutated files of a model.

    The model has no ``digests.json``, because a wrong digest would hide all later errors.
    """
    names = [path.relative_to(model).as_posix() for path in sorted(model.rglob("*.json"))]
    names = [name for name in names if name != "digests.json"]
    weights = [path.relative_to(model).as_posix() for path in model.rglob("*.safetensors")]
    valid = {name: (model / name).read_bytes() for name in (*names, *weights)}

    def use(example: tuple[str, bytes]) -> None:
        name, content = example
        files = {f"m/{file}": valid[file] for file in valid} | {f"m/{name}": content}
        attack.run(kind, command, files)

    changes = [st.tuples(st.just(name), hostile.mutated(valid[name])) for name in valid]
    changes += [st.tuples(st.just(name), hostile.changed_json(valid[name])) for name in names * 3]
    attack.try_all(kind, examples, st.one_of(changes), use)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_models(attack: Attack, examples: int) -> None:
    try_models(attack, "models", examples, attack.inputs.model, ENCODE)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["splade", "splade-max", "unicoil", "deepimpact"])
def test_models_of_other_systems(attack: Attack, systems: dict[str, Path], name: str) -> None:
    try_models(attack, f"models_of_other_systems, {name}", 20, systems[name], ENCODE)


@pytest.mark.slow
def test_dense_models(attack: Attack) -> None:
    command = "dense --corpus {corpus} --topics {topics} --model m --index out --output out.txt"
    try_models(attack, "dense_models", 20, attack.inputs.bi_encoder, command)


@pytest.mark.slow
def test_query_models(attack: Attack) -> None:
    command = "expand --corpus {corpus} --model m --output out.jsonl --per-doc 1 --max-length 8"
    command += " --max-new-tokens 2"
    try_models(attack, "query_models", 20, attack.inputs.t5, command)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_recipes(attack: Attack, recipe: Recipe, examples: int) -> None:
    valid = attack.inputs.recipe.read_text()

    def use(recipe: bytes) -> None:
        # Options override the recipe; with these, training with a valid recipe is short.
        command = "train --recipe r.toml --output out"
        limits = "steps=1 warmup_steps=0 validate_every=1 batch_size=2 block=4 max_length=8"
        command += "".join(f" --set {limit}" for limit in limits.split())
        attack.run("recipes", command, {"r.toml": recipe})

    attack.try_all("recipes", examples, hostile_files.recipes(recipe.flat(), valid), use)


@pytest.mark.java
@pytest.mark.slow
def test_vectors(attack: Attack) -> None:
    commands = (
        "index --foreign --input v --output out",
        "index --foreign --input v --output out --tokenizer {model}",
        "index --foreign --input v --output out --builder anserini",
    )

    def use(example: tuple[str, bytes]) -> None:
        command, vectors = example
        attack.run("vectors", command, {"v/a.jsonl": vectors})

    examples_of_both = st.tuples(st.sampled_from(commands), hostile_files.VECTORS)
    attack.try_all("vectors", 40, examples_of_both, use)


@pytest.mark.java
@pytest.mark.slow
def test_weighted_topics(attack: Attack) -> None:
    def use(topics: bytes) -> None:
        command = "search --index {index} --topics t.jsonl --pre-encoded --output out.txt"
        attack.run("weighted_topics", command, {"t.jsonl": topics})

    attack.try_all("weighted_topics", 50, hostile_files.WEIGHTED_TOPICS, use)


@pytest.mark.slow
def test_expansions(attack: Attack) -> None:
    def use(expansions: bytes) -> None:
        command = "encode --corpus {corpus} --model {model} --expansions e.jsonl --output out"
        attack.run("expansions", command, {"e.jsonl": expansions})

    attack.try_all("expansions", 80, hostile_files.EXPANSIONS, use)


@pytest.mark.slow
def test_conditions(attack: Attack) -> None:
    conditions = [entry(), entry(name="two", published="0.3")]

    def use(conditions: bytes) -> None:
        attack.run("conditions", "reproduce --list --file c.yaml", {"c.yaml": conditions})

    changed = hostile.changed_json(hostile.to_json(conditions))
    mutated = hostile.mutated(yaml.safe_dump(conditions).encode())
    attack.try_all("conditions", 200, st.one_of(changed, changed, mutated), use)
