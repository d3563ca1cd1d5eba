from __future__ import annotations

import argparse
from pathlib import Path

import pytest
import yaml

from spade_pyserini.analysis.conditions import (
    CONDITIONS,
    Condition,
    Expected,
    read_conditions,
    split_command,
)
from spade_pyserini.analysis.reproduce import command_lines
from spade_pyserini.cli import registry
from spade_pyserini.errors import InputError
from tests.analysis.condition_files import EVALUATE, entry, expect

NAMES = registry.SUMMARIES
SHIPPED = read_conditions(CONDITIONS, NAMES)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("- name: [", r":1: not valid YAML"),
        ("- name: 2020-13-45", "not valid YAML"),
        ("name: one", "expected a list of conditions"),
        ([7], "condition 1 of the list: each condition entry must be a mapping, not 7"),
        (
            [entry(colour="red")],
            "condition one: unknown fields: colour; the fields are name, title",
        ),
        ([{"name": "one"}], "condition one: title is missing"),
        ([entry(title=7)], "title: 7 is not a string"),
        ([entry(), entry()], "condition one: the name was used before"),
        ([entry(commands=[])], "commands: expected a list"),
        ([entry(commands=EVALUATE)], "commands: expected a list"),
        ([entry(commands=[7])], "the command 7 is not a string"),
        ([entry(commands=["rm -r x"])], "'rm -r' is not a command"),
        ([entry(commands=["spade enkode"])], "'spade enkode' is not a command"),
        ([entry(commands=["spade"])], "'spade' is not a command"),
        ([entry(commands=["spade_pyserini.enkode"])], "'spade_pyserini.enkode' is not"),
        ([entry(commands=[""])], "cannot be parsed"),
        ([entry(commands=[f"{EVALUATE} 'x"])], "cannot be parsed"),
        ([entry(expected=[])], "expected: expected a list"),
        ([entry(expected=[{"run": "x"}])], "qrels is missing"),
        ([entry(**expect("hearsay", 1))], "the source must be measured or paper, not 'hearsay'"),
        ([entry(**expect("paper", 1, measures={}))], "measures: expected names with scores"),
        ([entry(**expect("paper", 1, measures={"nonsense": 1}))], "'nonsense' is not a measure"),
        ([entry(**expect("paper", 1, measures={"RR": "high"}))], "RR: 'high' is not a number"),
        ([entry(**expect("paper", 1, measures={"RR": True}))], "RR: True is not a number"),
        ([entry(**expect("paper", 1, measures={"RR": 10**400}))], "RR: 10+ is not a number"),
        ([entry(**expect("paper", float("nan")))], "RR: nan is not a number"),
        ([entry(**expect("paper", 1, tolerance="some"))], "tolerance: 'some' is not a number"),
        (
            [entry(**expect("paper", 1, measures={"recall.5,10": 1}))],
            "give each measure a line of its own",
        ),
    ],
)
def test_malformed_files(folder: Path, content: str | list[object], message: str) -> None:
    path = Path("conditions.yaml")
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    with pytest.raises(InputError, match=rf"^conditions\.yaml.*{message}"):
        read_conditions(path, NAMES)


def test_both_spellings_of_a_command() -> None:
    expected = ["encode", "--corpus", "my corpus"]
    assert split_command("spade encode --corpus 'my corpus'") == expected
    assert split_command("spade_pyserini.encode --corpus 'my corpus'") == expected
    assert split_command("python -m spade_pyserini.encode") == []


@pytest.mark.parametrize("condition", SHIPPED.values(), ids=lambda condition: condition.name)
def test_a_shipped_condition(condition: Condition) -> None:
    """The parsers accept the commands, and the commands write the runs of the condition."""
    parsed: list[argparse.Namespace] = []
    for name, *words in command_lines(condition):
        parsed.append(registry.load(name).parser().parse_args(words))
        assert not any(word.startswith(("/", "../")) for word in words)
    # The default output of `spade search` is named after the index and the topics.
    written = {
        f"runs/run.{Path(options.index).name}.{options.topics.replace('/', '-')}.txt"
        for options in parsed
        if getattr(options, "index", None)
    }
    for options in parsed:
        if "depth" in options:  # only `spade rerank` has this option
            written |= {f"{options.run[:-4]}.rerank-{depth}.txt" for depth in options.depth}
        elif "run" in options:
            written |= set(options.run)  # input runs, written by earlier conditions
    sweeps = [options.output for options in parsed if "gamma" in options]
    for expected in condition.expected:
        assert expected.run in written or str(Path(expected.run).parent) in sweeps


def test_the_papers_rows_are_there() -> None:
    """Checks the best MRR@10 of the paper's Table 1, and the averages of its Table 2."""
    best = SHIPPED["paper-spade-k5-msmarco"].expected[0]
    assert best == Expected(
        best.run, "msmarco/dev", {"MRR@10": 0.355, "R@1000": 0.965}, "paper", 0.005
    )
    searching = ["dbpedia-entity", "fiqa", "hotpotqa", "nfcorpus", "nq", "trec-covid"]
    relating = ["webis-touche2020", "arguana", "climate-fever", "fever", "scidocs", "scifact"]
    for names, average in ((searching, 0.462), (relating, 0.374)):
        figures = [SHIPPED[f"paper-spade-{name}"].expected[0].measures["nDCG@10"] for name in names]
        assert sum(figures) / len(figures) == pytest.approx(average, abs=0.0006)
