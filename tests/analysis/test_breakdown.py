from __future__ import annotations

from pathlib import Path

from spade_pyserini import Document, SpadeModel, Topic
from spade_pyserini.analysis.breakdown import KINDS, kinds_of_topics
from tests.commands import Commands

TOPICS = [
    Topic("none", "red river"),
    Topic("one", "red cat"),
    Topic("some", "the old cat sleeps"),
    Topic("all", "old cat"),
    Topic("unjudged", "dog"),
]
DOCUMENT = Document("d", "the", "old cat in the house")


def test_topics_by_the_terms_they_share_with_relevant_documents(tiny_model: SpadeModel) -> None:
    qrels = {qid: {"d": 1} for qid in ("none", "one", "some", "all")} | {"graded": {"d": 1}}
    qrels["some"] = {"d": 1, "worse": 1}
    worse = Document("worse", "", "bird")
    kinds = kinds_of_topics(TOPICS, qrels, [DOCUMENT, worse], tiny_model.wordpieces)
    low, middle, high = KINDS
    assert kinds == {"none": low, "one": low, "some": middle, "all": high}
    assert kinds_of_topics(TOPICS, qrels, [DOCUMENT], tiny_model.wordpieces, level=2) == {}


def test_the_command(tmp_path: Path, run: Commands) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d", "text": "old cat in the house"}\n')
    (tmp_path / "topics.tsv").write_text("1\told cat\n2\tred cat\n3\tgone\n")
    (tmp_path / "qrels.txt").write_text("1 0 d 1\n2 0 d 1\n3 0 missing 1\n")
    (tmp_path / "run.txt").write_text("1 Q0 d 1 2 x\n2 Q0 e 1 2 x\n2 Q0 d 2 1 x\n")
    flags = ["--corpus", tmp_path / "corpus.jsonl", "--topics", tmp_path / "topics.tsv"]
    flags += ["--qrels", tmp_path / "qrels.txt", "--run", tmp_path / "run.txt"]
    result = run("breakdown", *flags)
    assert result.code == 0
    lines = [line.split() for line in result.out.splitlines()]
    assert lines[0] == ["topics", "run", "MRR@10", "R@1000", "MAP"]
    assert lines[2] == ["Match", "<=1", "(1)", "run.txt", "0.5000", "1.0000", "0.5000"]
    assert lines[3] == ["Match", "all", "(1)", "run.txt", "1.0000", "1.0000", "1.0000"]
    assert "1 judged topics have no relevant document in" in result.err
    (tmp_path / "topics.tsv").write_text("1\told cat\n3\tgone\n")
    fewer = run("breakdown", *flags, "--format", "csv")
    assert "1 judged topics are not in" in fewer.err
    assert fewer.out.splitlines()[1].startswith("Match all (1),run.txt,")
    (tmp_path / "topics.tsv").write_text("77\told cat\n")
    assert "topics.tsv: no topic has judgements in" in run("breakdown", *flags).err
    (tmp_path / "topics.tsv").write_text("1\told cat\n")
    (tmp_path / "corpus.jsonl").write_text('{"_id": "z", "text": "x"}\n')
    assert run("breakdown", *flags).code == 1
