"""The command `spade finetune`."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeModel
from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.runs import read_run
from spade_pyserini.models.fingerprint import weights_fingerprint
from spade_pyserini.models.precision import fastest_precision
from spade_pyserini.train.finetune import FinetuneOptions
from tests.commands import Commands, Result

WORDS = "cat dog bird fish house tree river folder file old new big".split()


def lines_of(corpus: Path) -> list[str]:
    return (corpus / "corpus.jsonl").read_text().splitlines()


@pytest.fixture
def pairs(tmp_path: Path, tiny_corpus: Path, tiny_model: SpadeModel) -> list[str]:
    """Options of `spade finetune`, for twelve queries with one relevant document each."""
    (tmp_path / "queries.tsv").write_text("".join(f"q{n}\t{w}\n" for n, w in enumerate(WORDS)))
    texts = [json.loads(line)["text"] for line in lines_of(tiny_corpus)]
    lines = []
    for number, word in enumerate(WORDS):
        docid = next(n for n, text in enumerate(texts) if word in text.split())
        lines.append(f"q{number} 0 d{docid} 1\n")
    (tmp_path / "qrels.txt").write_text("".join(lines))
    tiny_model.with_settings(trained=True).save_pretrained(tmp_path / "tiny")
    options = ["--model", tmp_path / "tiny", "--corpus", tiny_corpus, "--output", tmp_path / "mine"]
    options += ["--queries", tmp_path / "queries.tsv", "--qrels", tmp_path / "qrels.txt"]
    return [str(option) for option in options]


@pytest.fixture
def faq(pairs: list[str], tmp_path: Path, tiny_corpus: Path) -> Path:
    """A table of 30 pairs, next to the model ``tiny``."""
    texts = [json.loads(line)["text"] for line in lines_of(tiny_corpus)]
    rows = [f"{text.split()[0]} {text.split()[-1]},{text}" for text in texts]
    (tmp_path / "faq.csv").write_text("\n".join(["question,answer", *rows]))
    return tmp_path / "faq.csv"


def run_printed_commands(result: Result, run: Commands) -> list[str]:
    """Run the commands that ``spade finetune`` has printed; return them."""
    commands = [line for line in result.out.splitlines() if line.startswith("spade ")]
    for command in commands:
        done = run(*shlex.split(command)[1:])
        assert done.code == 0, done.err
    return commands


@pytest.mark.java
def test_pairs_to_a_model_and_a_table(pairs: list[str], tmp_path: Path, run: Commands) -> None:
    result = run("finetune", *pairs, "--steps", 3)
    assert result.code == 0, result.err
    rows = [line.split() for line in result.out.splitlines()]
    assert [row[0] for row in rows[2:5]] == ["BM25", f"{tmp_path / 'tiny'},", "fine-tuned"]
    assert result.out.splitlines()[-1] == str(tmp_path / "mine" / "best")
    dev, train = (read_qrels(tmp_path / f"mine/{part}.qrels.txt") for part in ("dev", "train"))
    assert len(dev) == 5 and len(train) == 7 and not dev.keys() & train.keys()
    tuned = SpadeModel.from_pretrained(tmp_path / "mine" / "best")
    assert weights_fingerprint(tuned) != weights_fingerprint(
        SpadeModel.from_pretrained(tmp_path / "tiny")
    )
    figures = json.loads((tmp_path / "mine" / "results.json").read_text())
    assert figures["systems"][0]["system"] == "BM25"
    # The finished run is not repeated: nothing is mined and validated again.
    shutil.rmtree(tmp_path / "mine" / "mined")
    again = run("finetune", *pairs, "--steps", 3)
    assert again.out == result.out and not (tmp_path / "mine" / "mined").exists()
    assert "mine is finished; the measures are those of results.json" in again.err
    assert run("finetune", *pairs, "--steps", 3, "--resume").out == result.out
    qrels = tmp_path / "qrels.txt"
    qrels.write_text(qrels.read_text().replace(" 1\n", " 2\n"))
    changed = run("finetune", *pairs, "--steps", 3)
    assert changed.code == 1 and "mine was trained with other data" in changed.err


@pytest.mark.java
def test_the_verdict_says_whether_the_rise_may_be_chance(
    pairs: list[str], tmp_path: Path, run: Commands
) -> None:
    assert run("finetune", *pairs, "--steps", 1).code == 0
    path = tmp_path / "mine" / "results.json"
    values = json.loads(path.read_text())
    assert values["test"].keys() == {"mean", "p", "untested"}
    measured = json.loads((tmp_path / "mine" / "dev.scores.json").read_text())
    assert len(measured) == values["queries"]
    after = values["systems"][-1]["mrr"]
    assert sum(measured.values()) / len(measured) == pytest.approx(after)
    values["systems"][-2]["mrr"] = after - 0.0511
    reason = "the difference is the same on all topics"
    for test, shown in (
        ({"mean": 0.0511, "p": 0.07}, "0.0511, but this may be chance (p = 0.07 in a paired t-t"),
        ({"mean": 0.0511, "p": 0.0123}, "0.0511 (p = 0.012 in a paired t-test); the checkpoint"),
        ({"mean": 0.0511, "p": None, "untested": reason}, f"0.0511 ({reason}); the checkpoint"),
        (None, "0.0511; the checkpoint was chosen"),  # a run of an earlier version
    ):
        path.write_text(json.dumps({**values, "test": test}))
        assert f"MRR@10 rose by {shown}" in run("finetune", *pairs, "--steps", 1).out
    path.write_text("{}")  # the measures are computed again
    assert run("finetune", *pairs, "--steps", 1).code == 0
    assert json.loads(path.read_text())["systems"][-1]["mrr"] == after


@pytest.mark.java
def test_a_csv_of_documents_and_a_csv_of_pairs(
    pairs: list[str],
    tmp_path: Path,
    tiny_corpus: Path,
    run: Commands,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The columns have unusual names; a pair is a query and the id of a document."""
    documents = [json.loads(line) for line in lines_of(tiny_corpus)]
    rows = [f"{x['_id']},{x['title']},{x['text']}" for x in documents]
    (tmp_path / "goods.csv").write_text("\n".join(["code,name,info", *rows]))
    judged = [line.split() for line in (tmp_path / "qrels.txt").read_text().splitlines()]
    texts = dict(line.split("\t") for line in (tmp_path / "queries.tsv").read_text().splitlines())
    clicks = [f"{texts[qid]},{docid}" for qid, _, docid, _ in judged]
    (tmp_path / "clicks.csv").write_text("\n".join(["words,bought", *clicks]))
    model = ("--model", tmp_path / "tiny", "--steps", 2, "--output", tmp_path / "mine")
    fields = ("--id-field", "code", "--title-field", "name", "--text-fields", "info")
    call = ("finetune", "--corpus", tmp_path / "goods.csv", "--pairs", tmp_path / "clicks.csv")
    wrong = run(*call, *fields, *model)
    assert wrong.code == 1 and "--query-field COLUMN" in wrong.err and "`words`" in wrong.err
    wrong = run(*call, *fields, *model, "--query-field", "words")
    assert wrong.code == 1 and "name it with --qrels-doc-field COLUMN, or leave out" in wrong.err
    named = ("--query-field", "words", "--qrels-doc-field", "bought")
    result = run(*call, *fields, *model, *named)
    assert result.code == 0, result.err
    assert "id from `code`, title from `name`, text from `info`" in result.err
    assert "fine-tuned" in result.out
    assert (tmp_path / "mine" / "best" / "README.md").is_file()
    monkeypatch.chdir(tmp_path)
    encode, *_ = run_printed_commands(result, run)
    assert f"--corpus {tmp_path / 'goods.csv'} {' '.join(fields)} --model" in encode
    assert (tmp_path / "runs" / "run.goods.mine.queries.txt").is_file()


@pytest.mark.java
def test_tables_of_queries_and_judgements_with_any_columns(
    pairs: list[str], tmp_path: Path, run: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    queries = [line.split("\t") for line in Path("queries.tsv").read_text().splitlines()]
    Path("queries.csv").write_text("".join(f"{b},{a}\n" for a, b in [("nr", "frage"), *queries]))
    judged = [line.split() for line in Path("qrels.txt").read_text().splitlines()]
    rows = [f"{docid},{qid},{grade},7\n" for qid, _, docid, grade in judged]
    Path("qrels.csv").write_text("".join(["artikel,anfrage,note,andere\n", *rows]))
    call = [*pairs, "--queries", "queries.csv", "--qrels", "qrels.csv", "--steps", "2"]
    call += ["--query-id-field", "nr", "--query-field", "frage", "--qrels-query-field", "anfrage"]
    call += ["--qrels-doc-field", "artikel", "--qrels-grade-field"]
    assert "there is no column 'x'" in run("finetune", *call, "x").err
    result = run("finetune", *call, "note")
    assert result.code == 0, result.err
    assert "queries.csv: ids from `nr`, queries from `frage`" in result.err
    assert "qrels.csv: queries from `anfrage`, documents from `artikel`, grades from" in result.err
    assert read_qrels("mine/inputs/qrels.txt") == read_qrels("qrels.txt")
    assert run("finetune", *call, "note").out == result.out
    run_printed_commands(result, run)
    # Grades from another column are other data, on which the finished model was not trained.
    other = run("finetune", *call, "andere")
    assert other.code == 1 and "qrels.txt would change; choose another output" in other.err
    assert read_qrels("mine/inputs/qrels.txt") == read_qrels("qrels.txt")
    # The validation data may have other columns, or be in another format.
    dev = ["--dev-queries", "queries.tsv", "--dev-qrels", "qrels.csv", "--output", "with-dev"]
    done = run("finetune", *call, "note", *dev)
    assert done.code == 0, done.err
    assert not Path("with-dev/inputs/dev/queries.tsv").exists()
    assert read_qrels("with-dev/inputs/dev/qrels.txt") == read_qrels("qrels.txt")


@pytest.mark.java
def test_a_single_file_of_pairs(faq: Path, tmp_path: Path, run: Commands) -> None:
    model = ("--model", tmp_path / "tiny", "--steps", 2, "--output", tmp_path / "mine")
    result = run("finetune", "--pairs", faq, *model)
    assert result.code == 0, result.err
    assert "queries from `question`, texts from `answer`" in result.err
    assert "30 pairs, 30 queries, 30 documents" in result.err
    assert "BM25 finds no document for 2 of the 24 training queries; random documents" in result.err
    assert "for 1 of the 24 training queries, BM25 finds too few documents that are" in result.err
    assert "no document for 1 of the 6 validation queries; they stay in the val" in result.err
    shown = r"24 training pairs, from 24 queries; training reads \d+ documents: those of the pairs"
    assert re.search(shown, result.err)
    assert "already built" not in result.err
    assert "are not used" not in result.err
    mined = tmp_path / "mine" / "mined" / "negatives.pairs.txt"
    qrels, written = read_qrels(tmp_path / "mine" / "train.qrels.txt"), mined.read_bytes()
    for ranking in read_run(mined):
        assert {hit.docid for hit in ranking.hits} - qrels[ranking.qid].keys()
    again = run("finetune", "--pairs", faq, *model, "--resume")
    assert again.out == result.out and mined.read_bytes() == written
    faq.write_text(faq.read_text().replace("cat", "cats"))
    changed = run("finetune", "--pairs", faq, *model)
    assert changed.code == 1 and "mine was trained with other data" in changed.err


@pytest.mark.java
def test_from_pairs_to_a_run_and_early_stopping_and_no_gain(
    faq: Path, tmp_path: Path, run: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call = ("finetune", "--pairs", "faq.csv", "--precision", "fp32")
    result = run(*call, "--model", "tiny", "--steps", 80, "--output", "my-model")
    assert result.code == 0, result.err
    assert "stopped after step 60 of 80: 2 validations without improvement" in result.err
    left = r"step 6 of 80: .* left on this machine, with 4 validations; a step takes 0\.\d seconds"
    assert re.search(left, result.err), result.err
    assert "\nthe result is better than tiny on these queries: MRR@10 rose by 0." in result.out
    assert re.search(r"rose by 0\.\d{4}(, but this may be chance)? \(p = 0\.\d+ in", result.out)
    assert "the checkpoint was chosen on the same queries, so measure on others" in result.out
    assert run_printed_commands(result, run) == [
        "spade encode --corpus my-model/pairs --model my-model/best --output encode/pairs.my-model",
        "spade index --input encode/pairs.my-model",
        "spade search --index index/pairs.my-model --topics my-model/pairs/queries.tsv",
        "spade evaluate --qrels my-model/dev.qrels.txt --run runs/run.pairs.my-model.queries.txt",
    ]
    # All dev queries have an MRR of 1 now, which cannot rise.
    again = run(*call, "--model", "my-model/best", "--steps", 1, "--output", "second")
    assert again.code == 0, again.err
    assert "\nthe result is not better than my-model/best on these queries: keep" in again.out
    assert "stopped after step" not in again.err


@pytest.mark.java
def test_other_settings_are_refused_at_once(
    pairs: list[str], tmp_path: Path, run: Commands
) -> None:
    assert run("finetune", *pairs, "--steps", 1).code == 0
    mine = tmp_path / "mine"
    shutil.rmtree(mine / "mined")
    held_out = (mine / "dev.qrels.txt").read_bytes()
    fewer = tmp_path / "fewer.txt"
    fewer.write_text("".join((tmp_path / "qrels.txt").read_text().splitlines(True)[1:]))
    for change in (["--steps", "2"], ["--steps", "1", "--seed", "1", "--qrels", str(fewer)]):
        refused = run("finetune", *pairs, *change)
        assert refused.code == 1 and "was started with another recipe" in refused.err
        assert not (mine / "mined").exists()
        assert (mine / "dev.qrels.txt").read_bytes() == held_out
    for name in ("best", "checkpoint"):
        shutil.rmtree(mine / name)
    (mine / "finished").unlink()
    anew = run("finetune", *pairs, "--steps", 2)
    assert anew.code == 0, anew.err
    assert "stopped before its first checkpoint; a new one with the new settings" in anew.err
    assert json.loads((mine / "recipe.json").read_text())["optimization"]["steps"] == 2


@pytest.mark.java
@pytest.mark.parametrize("precision", ["fp32", None])
def test_the_precision_of_training(
    precision: str | None, pairs: list[str], tmp_path: Path, run: Commands
) -> None:
    options = ["--precision", precision] if precision else []
    assert run("finetune", *pairs, "--steps", 1, *options).code == 0
    recorded = json.loads((tmp_path / "mine" / "recipe.json").read_text())["optimization"][
        "precision"
    ]
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    bf16 = precision is None and fastest_precision(device) == "bf16"
    assert recorded == ("bf16" if bf16 else "no")


@pytest.mark.java
def test_resume_without_a_run_says_so(pairs: list[str], run: Commands) -> None:
    result = run("finetune", *pairs, "--steps", 1, "--resume")
    assert result.code == 0, result.err
    assert "mine has no run to resume; a new one is started" in result.err


@pytest.mark.java
def test_wrong_calls(pairs: list[str], tmp_path: Path, run: Commands) -> None:
    with pytest.raises(UsageError, match="both dev_queries and dev_qrels"):
        FinetuneOptions("c", "q", "r", dev_qrels="x")
    with pytest.raises(UsageError, match="either pairs, or queries and qrels"):
        FinetuneOptions("c", "q", "r", pairs="p")
    assert run("finetune", "--output", "x", "--corpus", "pydoc").code == 2
    (tmp_path / "few.txt").write_text("q1 0 d1 1\n")
    few = run("finetune", *pairs, "--qrels", tmp_path / "few.txt")
    assert few.code == 1 and "a relevant document: 1; at least 10 are needed" in few.err
    unknown = run("finetune", *pairs, "--model", "nowhere")
    assert unknown.code == 1 and "nowhere" in unknown.err
    assert not (tmp_path / "mine").exists()
