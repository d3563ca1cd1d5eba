from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from spade_pyserini import open_corpus, read_run
from spade_pyserini.analysis.reproduce import Condition, Expected, command_lines, read_conditions
from spade_pyserini.cli import registry
from spade_pyserini.corpora.data_directory import VARIABLE
from spade_pyserini.errors import InputError
from tests.commands import Commands, child
from tests.conftest import ROOT, shared_data

SHIPPED = read_conditions(ROOT / "runs" / "reproduce.yaml", registry.SUMMARIES)
MEASURED = [
    one.name
    for one in SHIPPED.values()
    if one.expected[0].source == "measured" and not one.name.startswith("ablation-")
]  # those of the ablation take hours, and each stands on the one before
QRELS = "1 0 a 1\n2 0 b 1\n"
RUN = "1 Q0 a 1 1 x\n2 Q0 a 1 2 x\n2 Q0 b 2 1 x\n"  # RR 0.75
EVALUATE = "spade_pyserini.evaluate --qrels qrels.txt --run run.txt"


def entry(**changes: Any) -> dict[str, Any]:
    """A condition that needs no Java, with changes."""
    expected = {"run": "run.txt", "qrels": "qrels.txt", "measures": {"RR": 0.75}}
    return {
        "name": "one",
        "title": "One",
        "collection": "none",
        "model": "none",
        "commands": [EVALUATE],
        "expected": [{**expected, "source": "measured"}],
        **changes,
    }


def expect(source: str, figure: float, **changes: Any) -> dict[str, Any]:
    (one,) = entry()["expected"]
    return {"expected": [{**one, "source": source, "measures": {"RR": figure}, **changes}]}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a run and judgements, in which commands run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "run.txt").write_text(RUN)
    return tmp_path


def write(*entries: object) -> Path:
    path = Path("conditions.yaml")
    path.write_text(yaml.safe_dump(list(entries)))
    return path


def test_figures_that_agree(place: Path, run: Commands) -> None:
    result = run("reproduce", "--condition", "one", "--file", write(entry()))
    assert result.code == 0, result.err
    assert f"$ python -m {EVALUATE}" in result.out
    assert "MRR@10" in result.out  # what the command itself printed
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
def test_figures_that_do_not(
    place: Path, run: Commands, changes: dict[str, Any], flags: list[str], code: int, verdict: str
) -> None:
    file = write(entry(commands=["spade_pyserini.doctor --help"], **changes))
    result = run("reproduce", "--condition", "one", "--file", file, *flags)
    assert result.code == code
    line = result.out.splitlines()[-1]
    assert line.endswith(verdict)
    assert f"{changes['expected'][0]['measures']['RR']:.4f}  0.7500" in line
    assert ("1 of 1 figures differ" in result.err) == (code == 1)


def test_a_command_that_fails_ends_it_all(place: Path, run: Commands) -> None:
    commands = [f"{EVALUATE} ; touch made", EVALUATE]
    result = run("reproduce", "--condition", "one", "--file", write(entry(commands=commands)))
    assert result.code == 1
    assert "spade_pyserini.evaluate ended with exit code" in result.err
    assert result.out.count("$ python") == 1
    assert not (place / "made").exists()  # there is no shell


def test_the_commands_alone(place: Path, run: Commands) -> None:
    commands = ["spade_pyserini.encode --corpus 'my corpus' --model OWNER/MODEL"]
    file = write(entry(commands=commands, published="Others have 0.8."))
    asked = ("reproduce", "--condition", "one", "--file", file)
    result = run(*asked, "--dry-run", "--model", "my model")
    shown = "$ python -m spade_pyserini.encode --corpus 'my corpus' --model 'my model'"
    assert (result.code, result.out) == (0, f"One\nOthers have 0.8.\n\n{shown}\n")
    without = run(*asked)
    assert without.code == 2
    assert "name a trained model with --model" in without.err
    assert not (place / "encode").exists()


def test_a_seed_is_in_commands_and_runs(place: Path, run: Commands) -> None:
    (place / "run-3.txt").write_text(RUN)
    commands = ["spade_pyserini.evaluate --qrels qrels.txt --run run-SEED.txt"]
    file = write(
        entry(commands=commands, **expect("measured", 0.75, run="run-SEED.txt")), entry(name="two")
    )
    asked = ("reproduce", "--file", file, "--condition")
    found = run(*asked, "one", "--seed", "3")
    assert found.code == 0, found.err
    assert "--run run-3.txt" in found.out
    assert "--run run-0.txt" in run(*asked, "one", "--dry-run").out
    without = run(*asked, "two", "--seed", "3")
    assert without.code == 2
    assert "two trains nothing, or with a seed of its own" in without.err
    own = run(*asked, "two", "--model", "mine")
    assert own.code == 2
    assert "two has a model of its own" in own.err


def test_the_list(place: Path, run: Commands) -> None:
    file = write(entry(), entry(name="two", **expect("paper", 0.352)))
    result = run("reproduce", "--list", "--file", file)
    rows = [line.split() for line in result.out.splitlines()[2:]]
    assert rows == [
        ["one", "none", "qrels.txt", "RR", "0.75", "measured"],
        ["two", "none", "qrels.txt", "RR", "0.352", "paper"],
    ]
    unknown = run("reproduce", "--condition", "three", "--file", file)
    assert unknown.code == 2
    assert "no condition 'three'" in unknown.err
    assert run("reproduce", "--file", file).code == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("- name: [", r":1: not valid YAML"),
        ("- name: 2020-13-45", "not valid YAML"),
        ("name: one", "expected a list of conditions"),
        ([7], "condition 1 of the list: a condition is a mapping, not 7"),
        ([entry(colour="red")], "condition one: unknown: colour; known are name, title"),
        ([{"name": "one"}], "condition one: title is missing"),
        ([entry(title=7)], "title: 7 is not a text"),
        ([entry(), entry()], "condition one: the name was used before"),
        ([entry(commands=[])], "commands: expected a list"),
        ([entry(commands=EVALUATE)], "commands: expected a list"),
        ([entry(commands=[7])], "the command 7 is not a text"),
        ([entry(commands=["rm -r x"])], "rm is no command"),
        ([entry(commands=["spade_pyserini.enkode"])], "spade_pyserini.enkode is no command"),
        ([entry(commands=[""])], "cannot be read"),
        ([entry(commands=[f"{EVALUATE} 'x"])], "cannot be read"),
        ([entry(expected=[])], "expected: expected a list"),
        ([entry(expected=[{"run": "x"}])], "qrels is missing"),
        ([entry(**expect("hearsay", 1))], "the source 'hearsay' is not measured or paper"),
        ([entry(**expect("paper", 1, measures={}))], "measures: expected names with figures"),
        ([entry(**expect("paper", 1, measures={"nonsense": 1}))], "'nonsense' is no measure"),
        ([entry(**expect("paper", 1, measures={"RR": "high"}))], "RR: 'high' is not a figure"),
        ([entry(**expect("paper", 1, measures={"RR": True}))], "RR: True is not a figure"),
        ([entry(**expect("paper", float("nan")))], "RR: nan is not a figure"),
        ([entry(**expect("paper", 1, tolerance="some"))], "tolerance: 'some' is not a figure"),
        ([entry(**expect("paper", 1, measures={"recall.5,10": 1}))], "stands for several"),
    ],
)
def test_malformed_files(place: Path, content: str | list[object], message: str) -> None:
    path = Path("conditions.yaml")
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    with pytest.raises(InputError, match=rf"^conditions\.yaml.*{message}"):
        read_conditions(path, registry.SUMMARIES)


@pytest.mark.java
def test_a_condition_with_lucene(tiny_corpus: Path, tmp_path: Path) -> None:
    """A document is the best answer to its own words; the second topic's answer is nowhere."""
    (document,) = (one for one in open_corpus(str(tiny_corpus)) if one.docid == "d7")
    (tmp_path / "topics.tsv").write_text(f"1\t{document.contents}\n2\tred river\n")
    (tmp_path / "qrels.txt").write_text("1 0 d7 1\n2 0 nowhere 1\n")
    commands = [
        f"spade_pyserini.index --bm25 --corpus {tiny_corpus}",
        "spade_pyserini.search --index index/tiny.bm25 --topics topics.tsv --overwrite",
    ]
    changes = expect("measured", 0.5, run="runs/run.tiny.bm25.topics.txt")
    (tmp_path / "c.yaml").write_text(yaml.safe_dump([entry(commands=commands, **changes)]))
    asked = ("spade_pyserini.reproduce", "--file", "c.yaml", "--condition", "one")
    done = child(*asked, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0.5000  0.5000  measured  ok" in done.stdout
    assert len(read_run(tmp_path / "runs" / "run.tiny.bm25.topics.txt")) == 2


@pytest.mark.parametrize("condition", SHIPPED.values(), ids=lambda one: one.name)
def test_a_shipped_condition(condition: Condition) -> None:
    parsed = []
    for name, *words in command_lines(condition):
        parsed.append(
            registry.load(name.removeprefix("spade_pyserini.")).parser().parse_args(words)
        )
        assert not any(word.startswith("/") for word in words)
    searches = {one.topics: Path(one.index).name for one in parsed if getattr(one, "index", None)}
    sweeps = [one.output for one in parsed if "gamma" in one]
    given = [run for one in parsed for run in getattr(one, "run", [])]  # by a condition before
    for one in condition.expected:
        if str(Path(one.run).parent) in sweeps or one.run in given:
            continue
        assert one.run.startswith(f"runs/run.{searches[one.qrels]}.")  # the default of search
        assert one.run.endswith(f"{one.qrels.split('/')[-1]}.txt")


def test_the_papers_rows_are_there() -> None:
    """Table 1's best MRR@10, and the averages of Table 2."""
    best = SHIPPED["paper-spade-k5-msmarco"].expected[0]
    assert best == Expected(
        best.run, "msmarco/dev", {"MRR@10": 0.355, "R@1000": 0.965}, "paper", 0.005
    )
    searching = ["dbpedia-entity", "fiqa", "hotpotqa", "nfcorpus", "nq", "trec-covid"]
    relating = ["webis-touche2020", "arguana", "climate-fever", "fever", "scidocs", "scifact"]
    for names, average in ((searching, 0.462), (relating, 0.374)):
        figures = [SHIPPED[f"paper-spade-{name}"].expected[0].measures["nDCG@10"] for name in names]
        assert sum(figures) / len(figures) == pytest.approx(average, abs=0.0006)


@pytest.mark.slow
@pytest.mark.java
@pytest.mark.parametrize("name", MEASURED)
def test_our_figures_are_met(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name != "bm25-pydoc":
        data = shared_data(SHIPPED[name].collection).parent
        monkeypatch.setenv(VARIABLE, str(data))
        (tmp_path / "shared").symlink_to(data.parent)
    (tmp_path / "main").mkdir()
    file = ROOT / "runs" / "reproduce.yaml"
    asked = ("spade_pyserini.reproduce", "--file", file, "--condition", name)
    done = child(*asked, cwd=tmp_path / "main")
    assert done.returncode == 0, done.stdout + done.stderr
