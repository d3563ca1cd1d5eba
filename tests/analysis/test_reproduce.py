from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from spade_pyserini import open_corpus, read_run
from spade_pyserini.analysis.conditions import CONDITIONS, read_conditions
from spade_pyserini.cli import registry
from tests.analysis.condition_files import EVALUATE, QRELS, RUN, entry, expect, write
from tests.commands import Commands, child
from tests.conftest import shared_data

SHIPPED = read_conditions(CONDITIONS, registry.SUMMARIES)
MEASURED = [
    condition.name
    for condition in SHIPPED.values()
    if condition.expected[0].source == "measured" and not condition.name.startswith("ablation-")
]  # ablation conditions take hours, and need the runs of earlier conditions


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of the commands, with a run and judgements."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "run.txt").write_text(RUN)
    return tmp_path


def test_figures_that_agree(folder: Path, run: Commands) -> None:
    result = run("reproduce", "--condition", "one", "--file", write(entry()))
    assert result.code == 0, result.err
    assert f"$ {EVALUATE}" in result.out
    assert "MRR@10" in result.out  # printed by the command
    assert result.out.splitlines()[-1].split() == [
        *("qrels.txt", "RR", "0.7500", "0.7500", "measured", "ok")
    ]


@pytest.mark.parametrize(
    ("changes", "flags", "code", "verdict"),
    [
        (expect("measured", 0.7), [], 1, "DIFFERS"),
        (expect("measured", 0.7502), [], 1, "DIFFERS"),
        (expect("measured", 0.7501), [], 0, "ok"),
        (expect("measured", 0.7, tolerance=0.05), [], 0, "ok"),
        (expect("paper", 0.7), [], 0, "not checked"),
        (expect("paper", 0.7), ["--check-paper"], 1, "DIFFERS"),
    ],
)
def test_figures_that_differ(
    folder: Path, run: Commands, changes: dict[str, Any], flags: list[str], code: int, verdict: str
) -> None:
    file = write(entry(commands=["spade doctor --help"], **changes))
    result = run("reproduce", "--condition", "one", "--file", file, *flags)
    assert result.code == code
    line = result.out.splitlines()[-1]
    assert line.endswith(verdict)
    assert line.split()[2:4] == [f"{changes['expected'][0]['measures']['RR']:.4f}", "0.7500"]
    assert ("1 of 1 values differ" in result.err) == (code == 1)


def test_a_failing_command_stops_the_reproduction(folder: Path, run: Commands) -> None:
    commands = [f"{EVALUATE} ; touch file", EVALUATE]
    result = run("reproduce", "--condition", "one", "--file", write(entry(commands=commands)))
    assert result.code == 1
    assert "spade evaluate ended with exit code" in result.err
    assert result.out.count("$ spade") == 1
    assert not (folder / "file").exists()  # commands run without a shell


def test_the_commands_alone(folder: Path, run: Commands) -> None:
    commands = ["spade encode --corpus 'my corpus' --model OWNER/MODEL"]
    file = write(entry(commands=commands, published="Others have 0.8."))
    command = ("reproduce", "--condition", "one", "--file", file)
    result = run(*command, "--dry-run", "--model", "my model")
    shown = "$ spade encode --corpus 'my corpus' --model 'my model'"
    assert (result.code, result.out) == (0, f"One\nOthers have 0.8.\n\n{shown}\n")
    without = run(*command)
    assert without.code == 2
    assert "give a trained model with --model" in without.err
    assert not (folder / "encode").exists()


def test_a_seed_is_in_commands_and_runs(folder: Path, run: Commands) -> None:
    (folder / "run-3.txt").write_text(RUN)
    commands = ["spade evaluate --qrels qrels.txt --run run-SEED.txt"]
    file = write(
        entry(commands=commands, **expect("measured", 0.75, run="run-SEED.txt")), entry(name="two")
    )
    command = ("reproduce", "--file", file, "--condition")
    seeded = run(*command, "one", "--seed", "3")
    assert seeded.code == 0, seeded.err
    assert "--run run-3.txt" in seeded.out
    assert "--run run-0.txt" in run(*command, "one", "--dry-run").out
    without = run(*command, "two", "--seed", "3")
    assert without.code == 2
    assert "no command of two has a seed" in without.err
    own = run(*command, "two", "--model", "mine")
    assert own.code == 2
    assert "two uses the model none" in own.err


def test_the_list(folder: Path, run: Commands) -> None:
    file = write(entry(), entry(name="two", **expect("paper", 0.352)))
    result = run("reproduce", "--list", "--file", file)
    rows = [line.split() for line in result.out.splitlines()[2:]]
    assert rows == [
        ["one", "none", "run.txt", "qrels.txt", "RR", "0.75", "measured"],
        ["two", "none", "run.txt", "qrels.txt", "RR", "0.352", "paper"],
    ]
    (figures,) = entry()["expected"]
    file = write(entry(expected=[figures, {**figures, "run": "runs/other.txt"}]))
    rows = [line.split() for line in run("reproduce", "--list", "--file", file).out.splitlines()]
    assert rows[3] == ["other.txt", "qrels.txt", "RR", "0.75", "measured"]
    unknown = run("reproduce", "--condition", "three", "--file", file)
    assert unknown.code == 2
    assert "no condition 'three'" in unknown.err
    assert run("reproduce", "--file", file).code == 2


def test_a_collection_that_is_nowhere(folder: Path, run: Commands) -> None:
    """The message says where to put a collection that is not in the catalogue."""
    commands = ["spade index --bm25 --corpus my-articles"]
    file = write(entry(collection="my-articles", commands=commands))
    result = run("reproduce", "--condition", "one", "--file", file)
    assert result.code == 1
    assert "needs the collection 'my-articles'" in result.err
    assert "into DIR/my-articles and give --data-dir DIR" in result.err
    assert run("reproduce", "--condition", "one", "--file", file, "--dry-run").code == 0


@pytest.mark.java
def test_a_condition_with_lucene(tiny_corpus: Path, tmp_path: Path) -> None:
    """Topic 1 is the text of its relevant document; that of topic 2 is not in the corpus."""
    (document,) = (doc for doc in open_corpus(str(tiny_corpus)) if doc.docid == "d7")
    (tmp_path / "topics.tsv").write_text(f"1\t{document.contents}\n2\tred river\n")
    (tmp_path / "qrels.txt").write_text("1 0 d7 1\n2 0 nowhere 1\n")
    commands = [
        f"spade index --bm25 --corpus {tiny_corpus}",
        "spade search --index index/tiny.bm25 --topics topics.tsv --overwrite",
    ]
    changes = expect("measured", 0.5, run="runs/run.tiny.bm25.topics.txt")
    (tmp_path / "c.yaml").write_text(yaml.safe_dump([entry(commands=commands, **changes)]))
    command = ("spade_pyserini", "reproduce", "--file", "c.yaml", "--condition", "one")
    done = child(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split()[-4:] == ["0.5000", "0.5000", "measured", "ok"]
    assert len(read_run(tmp_path / "runs" / "run.tiny.bm25.topics.txt")) == 2


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.parametrize("name", MEASURED)
def test_measured_figures_are_reproduced(name: str, tmp_path: Path) -> None:
    command = ["spade_pyserini", "reproduce", "--condition", name]
    if SHIPPED[name].collection != "pydoc":
        command += ["--data-dir", str(shared_data(SHIPPED[name].collection).parent)]
    done = child(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_data_directory_is_passed_on_to_commands(folder: Path, run: Commands) -> None:
    """The qrels are given by the name of a collection in the data directory."""
    collection = folder / "data" / "mine"
    (collection / "qrels").mkdir(parents=True)
    (collection / "corpus.jsonl").write_text('{"_id": "a", "text": "cat"}\n')
    (collection / "queries.jsonl").write_text('{"_id": "1", "text": "cat"}\n')
    lines = ["query-id\tcorpus-id\tscore", "1\ta\t1", "2\tb\t1"]
    (collection / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n")
    commands = ["spade evaluate --qrels mine/test --run run.txt", "spade doctor --help"]
    file = write(entry(commands=commands, **expect("measured", 0.75, qrels="mine/test")))
    command = ("reproduce", "--condition", "one", "--file", file)
    result = run(*command, "--data-dir", folder / "data")
    assert result.code == 0, result.err
    assert f"--run run.txt --data-dir {folder / 'data'}" in result.out
    assert "$ spade doctor --help\n" in result.out
    assert run(*command).code == 1


def test_the_packages_conditions_are_the_default(run: Commands) -> None:
    assert "spade-mini-pydoc" in run("reproduce", "--list").out
