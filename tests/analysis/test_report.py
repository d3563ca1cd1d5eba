from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

from spade_pyserini.analysis.report import sweep_figures
from spade_pyserini.errors import NotFoundError
from tests.analysis.pages import ParsedPage
from tests.commands import Commands

ATTACK = "<script>alert('x')</script> & \"quotes\""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Twelve topics: the better run ranks all answers first, the worse run second or not at all."""
    with (
        (tmp_path / "qrels.txt").open("w") as qrels,
        (tmp_path / "better.txt").open("w") as better,
        (tmp_path / "worse.txt").open("w") as worse,
        (tmp_path / "topics.tsv").open("w") as topics,
    ):
        for qid in range(12):
            qrels.write(f"{qid} 0 a 1\n")
            better.write(f"{qid} Q0 a 1 2 x\n{qid} Q0 b 2 1 x\n")
            worse.write(f"{qid} Q0 b 1 2 x\n{qid} Q0 {'a' if qid % 3 else 'c'} 2 1 x\n")
            topics.write(f"{qid}\ttopic {qid} {ATTACK}\n")
    return tmp_path


def flags(files: Path, *runs: str) -> list[object]:
    return ["--qrels", files / "qrels.txt", "--run", *(files / name for name in runs)]


def test_the_page(files: Path, run: Commands) -> None:
    output = files / "report.html"
    given = [*flags(files, "worse.txt", "better.txt"), "--topics", files / "topics.tsv"]
    result = run("report", *given, "--title", f"Ours {ATTACK}", "--output", output)
    assert (result.code, result.out) == (0, f"{output}\n")
    page = ParsedPage(output.read_text())
    assert f"Ours {ATTACK}" in page.text
    assert f"11 topic 11 {ATTACK}" in page.text
    assert "script" not in page.tags
    assert page.sources == []
    assert "1.0000◇" in page.text  # significantly better, and marked
    assert "◇ significant difference from worse.txt: paired t-test" in page.text
    assert "better.txt against worse.txt" in page.text
    assert re.search(r"12wins0ties0losses", page.text)
    assert page.classes["gain"] == 12 + 5  # a bar for each topic, and one for each measure
    assert page.classes["loss"] == 0
    assert page.classes["baseline"] == 5
    assert re.search(r"0 topic 0 .*\n0\.0000 to 1\.0000, \+1\.0000", page.text)
    assert "none" in page.text.split("Largest losses")[1]
    again = run("report", *given, "--output", output)
    assert again.code == 1
    assert "pass --overwrite" in again.err


def test_another_baseline_turns_gains_into_losses(files: Path, run: Commands) -> None:
    output = files / "report.html"
    given = [*flags(files, "worse.txt", "better.txt"), "-m", "RR", "--output", output]
    assert run("report", *given, "--baseline", files / "better.txt").code == 0
    page = ParsedPage(output.read_text())
    assert page.classes["loss"] == 12
    assert "worse.txt against better.txt" in page.text
    assert "RR, a bar for each of 12 topics" in page.text
    assert run("report", *given, "--baseline", "elsewhere.txt", "--overwrite").code == 2


def test_a_single_run_has_a_table_and_no_comparison(files: Path, run: Commands) -> None:
    output = files / "report.html"
    assert run("report", *flags(files, "worse.txt"), "--output", output).code == 0
    page = ParsedPage(output.read_text())
    assert page.tags["table"] == 1
    assert "against" not in page.text
    assert f"Runs on {files / 'qrels.txt'}" in page.text


def test_figures_and_a_table_from_elsewhere(files: Path, run: Commands) -> None:
    sweep = files / "sweep"
    sweep.mkdir()
    (sweep / "alpha.svg").write_text(f"<svg>{ATTACK}</svg>")
    (sweep / "alpha.png").write_bytes(b"the same, once more")
    (sweep / "gamma.png").write_bytes(b"\x89PNG")
    (files / "b.csv").write_text('topics,run,MAP\n"Match <=1, few",x,0.1\nMatch all,y,0.2◇\n')
    output = files / "report.html"
    given = [*flags(files, "worse.txt"), "--sweep", sweep, "--breakdown", files / "b.csv"]
    assert run("report", *given, "--output", output).code == 0
    page = ParsedPage(output.read_text())
    assert "Match <=1, few" in page.text
    assert "0.2◇" in page.text
    assert [source.split(";")[0] for source in page.sources] == [
        "data:image/svg+xml",
        "data:image/png",
    ]
    assert base64.b64decode(page.sources[0].split(",")[1]).decode() == f"<svg>{ATTACK}</svg>"
    (files / "empty").mkdir()
    with pytest.raises(NotFoundError, match=r"empty: no \.svg or \.png"):
        sweep_figures(files / "empty")
