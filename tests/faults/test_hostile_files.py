"""Hostile files end in exit code 0, 1 or 2, without a traceback, in limited time and memory."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as hypothesis_seed
from hypothesis import strategies as st

from spade_pyserini.train.recipe import FLAT_NAMES
from tests.faults import hostile
from tests.faults.scenarios import Inputs
from tests.faults.supervisor import Limits, Outcome, Supervisor
from tests.faults.table import Faults

SECONDS = 120.0
MEGABYTES = 2000  # after all imports, a process uses 500
MODEL_FILES = ("config.json", "tokenizer.json", "model.safetensors")


class Attack:
    """Runs commands on hostile files, each in a folder of its own that is removed afterwards."""

    def __init__(
        self, supervisor: Supervisor, inputs: Inputs, faults: Faults, folder: Path
    ) -> None:
        self.supervisor, self.inputs, self.faults = supervisor, inputs, faults
        self.folder = folder

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
        repeat = f"pytest tests/faults/test_hostile_files.py -k {kind}"
        problem = problem and f"{problem}: spade {command}, {shown}"
        self.faults.record(f"hostile {kind}", problem, repeat, done.code)

    def try_all(
        self, kind: str, examples: int, strategy: st.SearchStrategy[Any], use: Callable[[Any], None]
    ) -> None:
        """Call ``use`` with ``examples`` examples, and fail if one of them broke a command."""

        @hypothesis_seed(self.faults.seed)
        @settings(
            max_examples=examples,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(strategy)
        def attempt(example: Any) -> None:
            use(example)

        attempt()
        assert not self.faults.problems(f"hostile {kind}"), self.faults.table()


def _problem(done: Outcome) -> str | None:
    if done.code not in (0, 1, 2):
        return f"exit code {done.code}, {done.err.strip()[-700:]!r}"
    if "Traceback" in done.err:
        return f"a traceback: {done.err.strip()[-700:]!r}"
    if done.code and "error" not in done.err:
        return f"exit code {done.code} without a message: {done.err.strip()[-300:]!r}"
    if done.megabytes > MEGABYTES:
        return f"it took {done.megabytes:.0f} MB"
    return None


@pytest.fixture
def attack(supervisor: Supervisor, inputs: Inputs, faults: Faults, tmp_path: Path) -> Attack:
    return Attack(supervisor, inputs, faults, tmp_path.resolve())


EXAMPLES = [4, pytest.param(60, marks=pytest.mark.slow)]


@pytest.mark.parametrize("examples", EXAMPLES)
def test_corpora(attack: Attack, examples: int) -> None:
    def use(example: tuple[str, bytes]) -> None:
        name, content = example
        command = f"encode --corpus {name} --model {{model}} --output out"
        attack.run("corpora", command, {name: content})

    attack.try_all("corpora", examples, hostile.CORPORA, use)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_topics(attack: Attack, examples: int) -> None:
    def use(example: tuple[str, bytes]) -> None:
        name, content = example
        command = f"topics --topics {name} --tokenizer {{model}} --output out.tsv"
        attack.run("topics", command, {name: content})

    attack.try_all("topics", examples, hostile.TOPICS, use)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_qrels(attack: Attack, examples: int) -> None:
    def use(qrels: bytes) -> None:
        attack.run("qrels", "evaluate --qrels q.txt --run {run}", {"q.txt": qrels})

    valid = attack.inputs.qrels.read_bytes()
    attack.try_all("qrels", examples, st.one_of(hostile.QRELS, hostile.mutated(valid)), use)


@pytest.mark.parametrize("examples", EXAMPLES)
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

    valid = attack.inputs.run.read_bytes()
    files = st.one_of(hostile.RUNS, hostile.mutated(valid))
    attack.try_all("runs", examples, st.tuples(st.sampled_from(commands), files), use)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_models(attack: Attack, examples: int) -> None:
    """The models have no digests, so that damage reaches the code that reads the files."""
    folder = attack.inputs.model
    valid = {name: (folder / name).read_bytes() for name in MODEL_FILES}

    def use(example: tuple[str, bytes]) -> None:
        name, content = example
        files = {f"m/{file}": valid[file] for file in MODEL_FILES} | {f"m/{name}": content}
        attack.run("models", "encode --corpus {corpus} --model m --output out", files)

    changes = [st.tuples(st.just(name), hostile.mutated(valid[name])) for name in MODEL_FILES]
    changes += [
        st.tuples(st.just(name), hostile.changed_json(valid[name])) for name in MODEL_FILES[:2] * 2
    ]
    attack.try_all("models", examples, st.one_of(changes), use)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_recipes(attack: Attack, examples: int) -> None:
    valid = attack.inputs.recipe.read_text()
    names = sorted({f"{section}.{name}" for section, name in FLAT_NAMES.values()})

    def use(recipe: bytes) -> None:
        # The last settings limit how long a valid recipe takes.
        command = "train --recipe r.toml --output out"
        limits = "steps=1 warmup_steps=0 validate_every=1 batch_size=2 block=4 max_length=8"
        command += "".join(f" --set {limit}" for limit in limits.split())
        attack.run("recipes", command, {"r.toml": recipe})

    attack.try_all("recipes", examples, hostile.recipes(names, valid), use)


@pytest.mark.java
@pytest.mark.slow
def test_vectors(attack: Attack) -> None:
    def use(vectors: bytes) -> None:
        command = "index --foreign --input v --output out"
        attack.run("vectors", command, {"v/a.jsonl": vectors})

    attack.try_all("vectors", 40, hostile.VECTORS, use)


@pytest.mark.slow
def test_expansions(attack: Attack) -> None:
    def use(expansions: bytes) -> None:
        command = "encode --corpus {corpus} --model {model} --expansions e.jsonl --output out"
        attack.run("expansions", command, {"e.jsonl": expansions})

    attack.try_all("expansions", 30, hostile.JSON_LINES, use)


@pytest.mark.slow
def test_conditions(attack: Attack) -> None:
    valid = (
        b"commands:\n  a: [[stats, x]]\nconditions:\n- {name: a, commands: [a], scores: {P_1: 1}}\n"
    )

    def use(conditions: bytes) -> None:
        attack.run("conditions", "reproduce --list --file c.yaml", {"c.yaml": conditions})

    files = st.one_of(hostile.mutated(valid), hostile.VALUES.map(hostile.to_json), st.binary())
    attack.try_all("conditions", 40, files, use)
