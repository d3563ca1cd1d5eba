from __future__ import annotations

import base64
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from spade_pyserini.analysis import html
from spade_pyserini.analysis.compare import QueryDifference
from spade_pyserini.analysis.report import read_csv, sweep_figures
from spade_pyserini.errors import InputError, NotFoundError
from tests.commands import Commands

ATTACK = "<script>alert('x')</script> & \"quotes\""
VOID = {"meta", "img"}


class Parsed(HTMLParser):
    """What a browser would see: tags, attributes and text; fails where tags do not match."""

    def __init__(self, made: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.classes: Counter[str] = Counter()
        self.sources: list[str] = []
        self.text = ""
        self.feed(made)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags[tag] += 1
        self.classes[str(given.get("class"))] += 1
        self.sources += [str(given[name]) for name in ("src", "href") if name in given]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Twelve topics: the better run has all answers first, the worse one second or not at all."""
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
    made = Parsed(output.read_text())
    assert f"Ours {ATTACK}" in made.text
    assert f"11 topic 11 {ATTACK}" in made.text
    assert "script" not in made.tags
    assert made.sources == []
    assert "1.0000◇" in made.text  # significantly better, and marked
    assert "◇ differs from worse.txt: paired t-test" in made.text
    assert "better.txt against worse.txt" in made.text
    assert re.search(r"12wins0ties0losses", made.text)
    assert made.classes["gain"] == 12 + 5  # a bar a topic, and one for each measure
    assert made.classes["loss"] == 0
    assert made.classes["baseline"] == 5
    assert "none" in made.text.split("Largest losses")[1]
    again = run("report", *given, "--output", output)
    assert again.code == 1
    assert "pass --overwrite" in again.err


def test_another_baseline_turns_gains_into_losses(files: Path, run: Commands) -> None:
    output = files / "report.html"
    given = [*flags(files, "worse.txt", "better.txt"), "-m", "RR", "--output", output]
    assert run("report", *given, "--baseline", files / "better.txt").code == 0
    made = Parsed(output.read_text())
    assert made.classes["loss"] == 12
    assert "worse.txt against better.txt" in made.text
    assert "RR, a bar for each of 12 topics" in made.text
    assert run("report", *given, "--baseline", "elsewhere.txt", "--overwrite").code == 2


def test_one_run_has_a_table_and_nothing_to_be_compared_with(files: Path, run: Commands) -> None:
    output = files / "report.html"
    assert run("report", *flags(files, "worse.txt"), "--output", output).code == 0
    made = Parsed(output.read_text())
    assert made.tags["table"] == 1
    assert "against" not in made.text
    assert f"Runs on {files / 'qrels.txt'}" in made.text


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
    made = Parsed(output.read_text())
    assert "Match <=1, few" in made.text
    assert "0.2◇" in made.text
    assert [source.split(";")[0] for source in made.sources] == [
        "data:image/svg+xml",
        "data:image/png",
    ]
    assert base64.b64decode(made.sources[0].split(",")[1]).decode() == f"<svg>{ATTACK}</svg>"
    (files / "empty").mkdir()
    with pytest.raises(NotFoundError, match=r"empty: no \.svg or \.png"):
        sweep_figures(files / "empty")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n1,2,3\n", ":3: expected 2 columns, found 3"),
        ('a,b\n1,"2\n', "not valid CSV"),
        ("a,b\n", "at least one line below it"),
    ],
)
def test_malformed_tables(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(InputError, match=message):
        read_csv(tmp_path / "t.csv")


def test_the_best_figure_is_bold_and_digits_stay_in_line() -> None:
    made = html.table(["run", "MAP"], [["a", "0.2000◇"], ["b", "0.3000 "]], bold=True)
    assert "<td class=number>0.2000<i>◇</i></td>" in made
    assert "<td class=number><b>0.3000</b><i></i></td>" in made
    assert made.count("<b>") == 1


def test_bars_reach_as_far_as_their_values() -> None:
    made = html.bars("RR", {"half": 0.5, "all": 1.0})
    assert re.findall(r'class="gain" y="\d+" width="([\d.]+)%"', made) == ["50.00", "100.00"]
    counts = html.bars("NumRet", {"few": 100, "many": 400})
    assert re.findall(r'class="gain" y="\d+" width="([\d.]+)%"', counts) == ["25.00", "100.00"]


def test_bars_of_topics_stand_on_zero() -> None:
    found = [QueryDifference("1", 0, 0.4, 0.4), QueryDifference("2", 0.2, 0, -0.2)]
    made = html.difference_chart(found, {"1": ATTACK}, ("a", "b"))
    zero = float(re.findall(r'class="zero" x2="100%" y1="([\d.]+)"', made)[0])
    up, down = re.findall(r'y="([\d.]+)" height="([\d.]+)">', made)
    assert float(up[0]) + float(up[1]) == pytest.approx(zero, abs=0.2)
    assert float(down[0]) == zero
    assert float(up[1]) == pytest.approx(2 * float(down[1]), abs=0.2)
    assert "<script" not in made
    assert "0.0000 to 0.4000, +0.4000" in made


def test_no_difference_at_all_is_a_flat_line() -> None:
    made = html.difference_chart([QueryDifference("1", 1, 1, 0)], {}, ("a", "b"))
    assert 'class="zero"' in made
    assert "<rect" not in made
