"""Fixtures of the fault-injection tests, and the table that is printed at the end."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spade_pyserini import SpadeModel, encode_corpus, open_corpus
from spade_pyserini.encode import EncodeOptions, Part
from spade_pyserini.train import Recipe
from tests.baselines.test_expand import save_t5
from tests.conftest import write_corpus
from tests.faults.budget import Budget, minutes, processes
from tests.faults.scenarios import Inputs
from tests.faults.supervisor import Supervisor
from tests.faults.syscalls import is_supported
from tests.faults.table import Faults, seed

FAULTS = Faults(seed())
BEGAN = time.monotonic()


@pytest.fixture(scope="session")
def faults() -> Faults:
    """The record of the faults that the tests of this process have tried."""
    return FAULTS


@pytest.fixture
def budget(run_budget: Budget) -> Budget:
    """The time of the run. A test that uses this fixture gets a part of it."""
    run_budget.start_test()
    return run_budget


@pytest.fixture(scope="session")
def run_budget(request: pytest.FixtureRequest) -> Budget:
    """The time of the run, divided among the tests that use `budget`."""
    tests = [item for item in request.session.items if "budget" in _fixture_names(item)]
    return Budget(minutes(), len(tests), processes(), began=BEGAN)


def _fixture_names(item: pytest.Item) -> list[str]:
    return item.fixturenames if isinstance(item, pytest.Function) else []


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In a worker process of pytest-xdist, hand the faults to the main process."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["faults"] = FAULTS.to_plain()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Collect the faults of a worker process that has ended."""
    if plain := getattr(node, "workeroutput", {}).get("faults"):
        FAULTS.add(plain)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table of all faults that were tried."""
    if FAULTS.tried:
        terminalreporter.section("faults")
        terminalreporter.write_line(FAULTS.table())


@pytest.fixture(scope="session")
def supervisor() -> Iterator[Supervisor]:
    """Runs commands with faults. Tests are skipped on systems without seccomp notifications."""
    if not is_supported():
        pytest.skip("needs seccomp notifications of Linux 5.5 or later on x86-64 or aarch64")
    with Supervisor() as running:
        yield running


@pytest.fixture(scope="session")
def inputs(
    tiny_backbone: Path,
    tiny_corpus: Path,
    tiny_model: SpadeModel,
    tiny_model_folder: Path,
    idf_model: SpadeModel,
    tiny_index: Path,
    recipe: Recipe,
    tmp_path_factory: pytest.TempPathFactory,
) -> Inputs:
    """The inputs of the commands in the scenarios."""
    folder = tmp_path_factory.mktemp("inputs")
    idf_model.save_pretrained(folder / "idf")
    more = write_corpus(folder / "more", 40)
    lines = (more / "corpus.jsonl").read_text().splitlines()[20:]
    (more / "corpus.jsonl").write_text("\n".join(lines))
    encode_corpus(open_corpus(str(more)), tiny_model, folder / "added")
    own = EncodeOptions(shard_size=12, model_name=tiny_model_folder.name)
    encode_corpus(open_corpus(str(tiny_corpus)), tiny_model, folder / "vectors", own)
    for part in range(2):
        options = EncodeOptions(shard_size=12, part=Part.of(part, 2))
        encode_corpus(open_corpus(str(tiny_corpus)), idf_model, folder / "parts", options)
    settings = [f"{name} = {json.dumps(value)}" for name, value in recipe.flat().items() if value]
    (folder / "recipe.toml").write_text("\n".join(settings))
    (folder / "topics.tsv").write_text("1\told cat\n2\tred river\n3\tthe dog sleeps\n")
    (folder / "qrels.txt").write_text("1 0 d1 1\n2 0 d3 1\n")
    (folder / "run.txt").write_text("1 Q0 d1 1 9 x\n1 Q0 d2 2 8 x\n2 Q0 d3 1 7 x\n")
    return Inputs(
        corpus=tiny_corpus,
        model=tiny_model_folder,
        idf_model=folder / "idf",
        t5=save_t5(tiny_backbone, folder / "t5"),
        bi_encoder=tiny_backbone,
        vectors=folder / "vectors",
        parts=folder / "parts",
        added=folder / "added",
        index=tiny_index,
        recipe=folder / "recipe.toml",
        topics=folder / "topics.tsv",
        qrels=folder / "qrels.txt",
        run=folder / "run.txt",
    )
