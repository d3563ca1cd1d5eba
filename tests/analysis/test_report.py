from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import pytest

from spade_pyserini.analysis.report import sweep_figures
from spade_pyserini.analysis.report_topics import ShownTopics
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
            better.write(f"{qid} Q0 a 1 2 ours\n{qid} Q0 b 2 1 ours\n")
            other = "a" if qid % 3 else "c"
            worse.write(f"{qid} Q0 b 1 2 bm25\n{qid} Q0 {other} 2 1 bm25\n")
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
    assert page.sources and all(source.startswith("#topic-") for source in page.sources)
    assert "1.0000◇" in page.text  # marked as significantly better
    assert "◇ significant difference from BM25: paired t-test" in page.text
    assert "ours against BM25 on topics" in page.text
    assert re.search(r"12wins0ties0losses", page.text)
    assert page.classes["gain"] == 12 + 5  # a bar for each topic, and one for each measure
    assert page.classes["loss"] == 0
    assert page.classes["baseline"] == 5
    assert re.search(r"0 topic 0 .*\n0\.0000 to 1\.0000, \+1\.0000", page.text)
    assert "none" in page.text.split("Largest losses")[1]
    again = run("report", *given, "--output", output)
    assert again.code == 1
    assert "pass --overwrite" in again.err


@pytest.mark.parametrize(
    ("topics", "reason"),
    [
        (3, "3 topics are too few for a test of significance"),
        (6, "the difference is the same on all topics, so there is no test of significance"),
    ],
)
def test_no_p_value_without_a_test(files: Path, run: Commands, topics: int, reason: str) -> None:
    (files / "qrels.txt").write_text("".join(f"{qid} 0 a 1\n" for qid in range(topics)))
    hits = (f"{qid} Q0 b 1 2 bm25\n{qid} Q0 a 2 1 bm25\n" for qid in range(topics))
    (files / "worse.txt").write_text("".join(hits))
    output = files / "report.html"
    given = [*flags(files, "worse.txt", "better.txt"), "-m", "nDCG@10", "--output", output]
    assert run("report", *given).code == 0
    page = ParsedPage(output.read_text())
    assert "mean difference-p" in page.text
    assert f"p: {reason}" in page.text
    assert page.text.count(reason) == 2  # below the table, and below the dash that replaces p
    assert "◇" not in page.text


def test_another_baseline_turns_gains_into_losses(files: Path, run: Commands) -> None:
    output = files / "report.html"
    given = [*flags(files, "worse.txt", "better.txt"), "-m", "RR", "--output", output]
    assert run("report", *given, "--baseline", files / "better.txt").code == 0
    page = ParsedPage(output.read_text())
    assert page.classes["loss"] == 12
    assert "BM25 against ours on qrels" in page.text
    assert "RR, a bar for each of 12 topics" in page.text
    assert run("report", *given, "--baseline", "elsewhere.txt", "--overwrite").code == 2


def test_a_single_run_has_a_table_and_no_comparison(files: Path, run: Commands) -> None:
    output = files / "report.html"
    assert run("report", *flags(files, "worse.txt"), "--output", output).code == 0
    page = ParsedPage(output.read_text())
    assert "against" not in page.text
    assert "BM25 on qrels" in page.text
    lowest = page.text.split("Topics with the lowest scores")[1].split("Documents")[0]
    # Each line is the id of a topic, directly followed by its nDCG@10.
    assert lowest.split()[1:6] == ["00.0000", "30.0000", "60.0000", "90.0000", "10.6309"]


def test_a_topic_leads_to_its_documents(files: Path, run: Commands) -> None:
    texts = {"a": f"The answer {ATTACK}", "b": "Another text " * 50}
    lines = (json.dumps({"id": docid, "contents": text}) for docid, text in texts.items())
    (files / "corpus.jsonl").write_text("\n".join(lines))
    output = files / "report.html"
    given = [*flags(files, "worse.txt", "better.txt"), "--topics", files / "topics.tsv"]
    assert run("report", *given, "--output", output).code == 0
    source = output.read_text()
    anchors = re.findall(r'id="(topic-\d+)"', source)
    assert len(anchors) == 10  # the largest gains; there is no loss
    assert set(re.findall(r'href="#([^"]+)"', source)) == set(anchors)
    first = ParsedPage(source[source.index('<div class="topic"') :].split("</section>")[0]).text
    assert first.startswith(f"0 topic 0 {ATTACK}BM25")
    assert "not judged" in first and "judged relevant" in first
    result = run(
        "report", *given, "--corpus", files / "corpus.jsonl", "--output", output, "--overwrite"
    )
    assert result.code == 0
    page = ParsedPage(output.read_text())
    assert texts["a"] in page.text
    assert "Another text ..." in page.text  # the text is shortened
    assert "not in the corpus" in page.text  # the document c
    assert "script" not in page.tags


def test_documents_below_the_level_are_not_listed_as_relevant() -> None:
    shown = ShownTopics(["q"], {})
    listed = []
    for level in (1, 2):
        section = shown.documents_section({"q": {"low": 1, "high": 2}}, {}, level=level)
        listed.append(section.split("judged relevant")[1])
    assert "low" in listed[0] and "high" in listed[0]
    assert "low" not in listed[1] and "high" in listed[1]


@pytest.mark.java
def test_an_index_remembers_the_corpus_of_the_texts(files: Path, run: Commands) -> None:
    (files / "goods.csv").write_text("code,info\na,the answer\nb,another text\n")
    columns = ("--id-field", "code", "--text-fields", "info")
    corpus = ("--corpus", files / "goods.csv", *columns)
    assert run("index", "--bm25", *corpus, "--output", files / "goods.bm25").code == 0
    given = [*flags(files, "better.txt"), "--topics", files / "topics.tsv"]
    output = ("--output", files / "report.html")
    result = run("report", *given, "--index", files / "goods.bm25", *output)
    assert result.code == 0, result.err
    page = ParsedPage((files / "report.html").read_text())
    assert "the answer" in page.text and "another text" in page.text
    both = run("report", *given, "--index", files / "goods.bm25", *corpus, *output, "--overwrite")
    assert (both.code, both.out) == (2, "") and "either --index or --corpus" in both.err


def test_runs_of_the_same_model_are_told_apart_by_their_files(files: Path, run: Commands) -> None:
    (files / "copy.txt").write_text((files / "worse.txt").read_text())
    output = files / "report.html"
    assert run("report", *flags(files, "worse.txt", "copy.txt"), "--output", output).code == 0
    assert "BM25 (copy.txt)" in output.read_text()


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
    images = [source for source in page.sources if source.startswith("data:")]
    assert [source.split(";")[0] for source in images] == [
        "data:image/svg+xml",
        "data:image/png",
    ]
    assert base64.b64decode(images[0].split(",")[1]).decode() == f"<svg>{ATTACK}</svg>"
    (files / "empty").mkdir()
    with pytest.raises(NotFoundError, match=r"empty: no \.svg or \.png"):
        sweep_figures(files / "empty")
