"""Tables of topics and judgements with any column names, in all commands that read them."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from spade_pyserini import read_run
from spade_pyserini.cli import registry
from spade_pyserini.cli.arguments import QRELS_FIELDS, TOPIC_FIELDS
from tests.commands import Commands, child

TOPIC_FLAGS = ["--query-id-field", "nr", "--query-field", "frage"]
QRELS_FLAGS = [
    *("--qrels-query-field", "anfrage", "--qrels-doc-field", "artikel"),
    *("--qrels-grade-field", "note"),
]
FILES = ["--topics", "fragen.csv", "--qrels", "urteile.csv"]
GERMAN = [*FILES, *TOPIC_FLAGS, *QRELS_FLAGS]


@pytest.fixture
def german(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with tables whose columns have German names, and two runs."""
    monkeypatch.chdir(tmp_path)
    Path("fragen.csv").write_text("frage,nr\nred fish,1\nold cat,2\n")
    Path("urteile.csv").write_text("note,artikel,anfrage\n1,d1,1\n0,d2,1\n2,d2,2\n")
    Path("waren.csv").write_text("id,text\nd1,a red fish\nd2,the cat sleeps\n")
    Path("a.txt").write_text("1 Q0 d1 1 2.0 x\n1 Q0 d2 2 1.0 x\n2 Q0 d2 1 1.0 x\n")
    Path("b.txt").write_text("1 Q0 d2 1 2.0 x\n1 Q0 d1 2 1.0 x\n2 Q0 d2 1 1.0 x\n")
    return tmp_path


def test_every_command_with_topics_or_qrels_names_their_columns() -> None:
    """All these commands have the same flags. For finetune, ``--queries`` are the topics."""
    seen = []
    for name in registry.SUMMARIES:
        names = {action.dest for action in registry.load(name).parser()._actions}
        if names & {"topics", "queries"}:
            assert names >= {*TOPIC_FIELDS}, name
            seen.append(name)
        if "qrels" in names:
            assert names >= {*QRELS_FIELDS}, name
            seen.append(name)
    assert set(seen) == set(
        "search topics evaluate breakdown compare report sweep rerank dense serve finetune".split()
    )


def test_evaluate(german: Path, run: Commands) -> None:
    call = ("evaluate", "--qrels", "urteile.csv", "--run", "a.txt", "b.txt", "-m", "MRR@10")
    refused = run(*call)
    assert refused.code == 1
    assert "urteile.csv: no column for the ids of the queries among `note`, `artikel`, `anf" in (
        refused.err
    )
    assert "name the column with --qrels-query-field COLUMN, or rename it to" in refused.err
    result = run(*call, *QRELS_FLAGS)
    assert result.code == 0, result.err
    assert "queries from `anfrage`, documents from `artikel`, grades from `note`" in result.err
    assert [line.split()[1] for line in result.out.splitlines()[2:4]] == ["1.0000", "0.7500"]
    # If the column of grades is not read, the document of grade 0 counts as relevant, too.
    every = run(*call, *QRELS_FLAGS[:-1], "")
    assert "all judged documents are relevant (grade 1)" in every.err
    assert [line.split()[1] for line in every.out.splitlines()[2:4]] == ["1.0000", "1.0000"]


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ("compare a.txt b.txt", "red fish"),
        ("breakdown --run a.txt --corpus waren.csv", "Match all (1)"),
        ("report --run a.txt b.txt --corpus waren.csv --output report.html", "red fish"),
    ],
)
def test_compare_breakdown_and_report(call: str, shown: str, german: Path, run: Commands) -> None:
    result = run(*call.split(), *GERMAN)
    assert result.code == 0, result.err
    assert "fragen.csv: ids from `nr`, queries from `frage`" in result.err
    assert "urteile.csv: queries from `anfrage`, documents from `artikel`" in result.err
    page = german / "report.html"
    assert shown in (page.read_text() if page.exists() else result.out)


@pytest.mark.java
def test_search(german: Path, tiny_index: Path, run: Commands) -> None:
    call = ("search", "--index", tiny_index, "--topics", "fragen.csv", "--output", "run.txt")
    refused = run(*call)
    assert refused.code == 1
    assert "fragen.csv: no column for the queries among `frage`, `nr`; name the column with" in (
        refused.err
    )
    assert "--query-field COLUMN" in refused.err
    result = run(*call, *TOPIC_FLAGS)
    assert result.code == 0, result.err
    assert [ranking.qid for ranking in read_run("run.txt")] == ["1", "2"]


@pytest.mark.parametrize(
    ("call", "code", "message"),
    [
        (
            "evaluate --run a.txt --qrels urteile.csv --qrels-doc-field sku",
            1,
            "urteile.csv: there is no column 'sku'; the columns are `note`, `artikel`, `anfrage`",
        ),
        (
            "evaluate --run a.txt --qrels pydoc/dev --qrels-doc-field sku",
            2,
            "pydoc/dev is a split of a collection, not a table; leave out --qrels-doc-field 'sku'",
        ),
        (
            "compare a.txt b.txt --qrels pydoc/dev --query-field frage",
            2,
            "--query-field applies only with --topics",
        ),
        (
            "search --index x --query fish --query-field frage",
            2,
            "--query-field applies only with --topics",
        ),
        (
            "search --index x --topics fragen.csv --pre-encoded --query-field frage",
            2,
            "--query-field applies only with topics that are not pre-encoded",
        ),
        ("serve --index x --qrels-doc-field sku", 2, "--qrels-doc-field applies only with --qrels"),
        (
            "finetune --pairs fragen.csv --qrels-query-field nr --output o",
            2,
            "pairs have no column of query ids; leave out --qrels-query-field 'nr'",
        ),
    ],
)
def test_wrong_calls(call: str, code: int, message: str, german: Path, run: Commands) -> None:
    result = run(*shlex.split(call))
    assert result.code == code, result.err
    assert message in result.err


@pytest.mark.java
def test_topics_without_a_known_column_of_ids(german: Path, tiny_index: Path) -> None:
    """The log line names the columns and the flag; this needs a process that logs to stderr."""
    Path("fragen.csv").write_text("nr,question\nT0,red fish\nT1,old cat\n")
    call = ("spade_pyserini", "search", "--index", tiny_index, "--topics", "fragen.csv")
    numbered = child(*call, "--output", "run.txt", cwd=german)
    assert numbered.returncode == 0, numbered.stderr
    assert (
        "fragen.csv: none of the columns `nr`, `question` is known as a column of ids, so the id "
        "of a topic is the number of its row, from 1; to read ids, name their column with "
        "--query-id-field COLUMN\n"
    ) in numbered.stderr
    assert [ranking.qid for ranking in read_run("run.txt")] == ["1", "2"]
    named = child(*call, "--output", "run.txt", "--overwrite", "--query-id-field", "nr", cwd=german)
    assert named.returncode == 0 and "none of the columns" not in named.stderr
    assert [ranking.qid for ranking in read_run("run.txt")] == ["T0", "T1"]
    chosen = child(
        *call, "--output", "run.txt", "--overwrite", "--query-id-field", ":row", cwd=german
    )
    assert "fragen.csv: the id of a topic is the number of its row, from 1\n" in chosen.stderr
