"""The README of an export whose queries have weights, or whose terms are words."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from spade_pyserini import ImpactSearcher, build_impact_index, encode_corpus, open_corpus
from spade_pyserini.errors import NotFoundError, UsageError
from spade_pyserini.export.examples import example_weights
from spade_pyserini.export.opensearch import FULL_STOP
from spade_pyserini.export.queries import read_queries
from spade_pyserini.models.systems.loading import load_encoder, load_queries
from spade_pyserini.search.query_models import neural_queries
from tests.commands import Commands
from tests.docs.pages import fenced

pytestmark = [pytest.mark.java, pytest.mark.filterwarnings("ignore")]
MODELS = {"table": "opensearch", "neural": "splade", "words": "deepimpact"}
SENTENCES = {
    "table": "The file `x.queries.json` next to this file lists the weights",
    "neural": "encodes a query: it returns terms",
    "words": "A query is the set of its words",
}


@pytest.fixture(scope="module", params=MODELS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def model(kind: str, systems: dict[str, Path]) -> Path:
    return systems[MODELS[kind]]


@pytest.fixture(scope="module")
def index(
    kind: str, model: Path, tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """An index of the tiny corpus whose queries are of this kind."""
    folder = tmp_path_factory.mktemp(kind)
    encoder = load_encoder(model, fold=False)
    encode_corpus(open_corpus(str(tiny_corpus)), encoder, folder / "vectors")
    build_impact_index(folder / "vectors", folder / "index")
    return folder / "index"


def expected_weights(index: Path, kind: str, model: Path, text: str) -> dict[str, int]:
    queries = neural_queries(str(model)) if kind == "neural" else None
    with ImpactSearcher(index, queries=queries) as searcher:
        return searcher.query_weights(text)


def test_the_command_of_the_readme_gives_the_queries_of_the_index(
    kind: str,
    model: Path,
    index: Path,
    tmp_path: Path,
    run: Commands,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = run("export", "--index", index, "--to", "opensearch", "--output", "x")
    assert shown.code == 0, shown.err
    readme = Path("x.README.md").read_text()
    assert SENTENCES[kind] in readme
    assert ("set of its WordPieces" in readme, "each have" in readme) == (False, False)
    (command,) = re.findall(r"^    spade (topics .*)$", readme, re.MULTILINE)
    Path("topics.tsv").write_text("7\tthe old cat\n")
    words = shlex.split(command.replace("TOPICS", "topics.tsv"))
    if kind == "neural":
        position = words.index("--query-encoder") + 1
        assert words[position] == model.name
        words[position] = str(model)
    done = run(*words)
    assert done.code == 0, done.err
    _, body = map(json.loads, Path("queries.ndjson").read_text().splitlines())
    wanted = expected_weights(index, kind, model, "the old cat")
    assert weights_of(body) == wanted
    if kind != "words":
        assert set(wanted.values()) != {1}


def weights_of(body: dict[str, Any]) -> dict[str, float]:
    clauses = [clause["rank_feature"] for clause in body["query"]["bool"]["should"]]
    names = [clause["field"].removeprefix("impacts.") for clause in clauses]
    terms = [name.replace(FULL_STOP, ".") for name in names]
    weights = [clause.get("boost", 1.0) for clause in clauses]
    return dict(zip(terms, weights, strict=True))


def test_examples_have_the_weights_of_queries(
    kind: str,
    model: Path,
    index: Path,
    tmp_path: Path,
    run: Commands,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("export", "--index", index, "--to", "opensearch", "--output", "x").code == 0
    body = weights_of(json.loads(Path("x.query.json").read_text()))
    assert run("export", "--index", index, "--to", "ciff", "--output", "x.ciff").code == 0
    readme = Path("x.ciff.README.md").read_text()
    assert ("both terms have weight 1" in readme) == (kind == "neural")
    terms = example_weights(index)
    assert 1 <= len(terms) <= 2
    if kind == "table":
        text = " ".join([*terms, *(term for term in body if term.isalpha())])
        wanted = expected_weights(index, kind, model, text)
        assert terms.items() <= wanted.items() and set(terms.values()) != {1}
        assert all(wanted.get(term, weight) == weight for term, weight in body.items())
    else:
        assert {*terms.values(), *body.values()} == {1}
    (program,) = fenced(readme, "python")
    capfd.readouterr()
    exec(compile(program, "README.md", "exec"), {})
    best = eval_pair(capfd.readouterr().out)
    if kind != "neural":
        with ImpactSearcher(index) as searcher:
            assert best == tuple(searcher.search(" ".join(terms), 1)[0])


def eval_pair(printed: str) -> tuple[str, int]:
    found = re.match(r"\[\('([^']+)', (\d+)\)", printed)
    assert found, printed
    return found[1], int(found[2])


def test_queries_of_an_export(
    kind: str, model: Path, index: Path, tmp_path: Path, run: Commands
) -> None:
    output = tmp_path / "x"
    assert run("export", "--index", index, "--to", "opensearch", "--output", output).code == 0
    files = (f"{output}.tokenizer.json", f"{output}.queries.json")
    if kind == "neural":
        with pytest.raises(UsageError, match="give query_encoder="):
            read_queries(*files)
    make = neural_queries(str(model)) if kind == "neural" else None
    queries = read_queries(*files, make)
    assert queries.encode(["old dog"]) == [expected_weights(index, kind, model, "old dog")]
    if kind == "neural":
        assert queries.side == load_queries(model).side


def test_wrong_calls(tiny_index: Path, tmp_path: Path, run: Commands) -> None:
    tokenizer = tiny_index.with_name("tiny.tokenizer.json")
    with pytest.raises(NotFoundError, match="no such file; `spade export` writes it"):
        read_queries(tokenizer, tmp_path / "x.queries.json")
    (tmp_path / "t.tsv").write_text("1\tcat\n")
    call = ("topics", "--topics", tmp_path / "t.tsv", "--output", tmp_path / "o.tsv")
    both = run(*call, "--index", tiny_index, "--query-side", "x.queries.json")
    assert both.code == 2 and "applies only with --tokenizer" in both.err
    alone = run(*call, "--tokenizer", tokenizer, "--query-encoder", "splade")
    assert alone.code == 2 and "--query-encoder needs --index DIR" in alone.err


def test_a_boolean_export_has_no_description_of_queries(
    tiny_index: Path, tmp_path: Path, run: Commands
) -> None:
    (tmp_path / "x.ciff.queries.json").write_text("of an earlier export")
    output = tmp_path / "x.ciff"
    assert run("export", "--index", tiny_index, "--to", "ciff", "--output", output).code == 0
    assert not (tmp_path / "x.ciff.queries.json").exists()
    readme = (tmp_path / "x.ciff.README.md").read_text()
    assert "A query is the set of its WordPieces" in readme and "--query-side" not in readme
