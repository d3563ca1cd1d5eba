"""The commands and programs in the README of an export work as written."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spade_pyserini import ImpactSearcher, SpadeModel, build_impact_index, encode_corpus
from spade_pyserini import open_corpus as open_documents
from spade_pyserini.export.examples import example_query
from spade_pyserini.export.readme import collection_name
from tests.commands import Commands, child, copy_artifact, shell
from tests.docs.pages import fenced
from tests.export.engine_server import recording_server
from tests.export.test_opensearch import score_of

pytestmark = pytest.mark.java
TOPICS = "7\tthe old cat\n8\t[SEP]\n9\ta big dog, a dog\n"


def blocks(readme: Path) -> list[str]:
    """Return the indented blocks of a README, which are shell commands."""
    text = re.sub(r"^```python\n.*?^```", "", readme.read_text(), flags=re.DOTALL | re.MULTILINE)
    found = re.findall(r"(?:^ {4}.*\n|^\n(?= {4}))+", text, re.MULTILINE)
    return [block for block in found if block.strip()]


def run_program(program: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
@pytest.mark.parametrize("field", ["rank_features", "sparse_vector"])
def test_the_calls_of_curl(
    tiny_index: Path, tiny_corpus: Path, tmp_path: Path, field: str, run: Commands
) -> None:
    flags = ("--index", tiny_index, "--to", "opensearch", "--field", field, "--with-text")
    shown = run("export", *flags, "--output", tmp_path / "my tiny")
    assert shown.code == 0, shown.err
    readme = Path(shown.out.splitlines()[0])
    assert readme == tmp_path / "my tiny.README.md"
    (tmp_path / "topics.tsv").write_text(TOPICS)
    commands = "".join(blocks(readme)).replace("TOPICS", "topics.tsv")
    assert commands.count("curl") == 4
    with recording_server() as (address, requests):
        commands = commands.replace("http://localhost:9200", address)
        done = shell(f"set -e\n{commands.replace('spade topics', PROGRAM)}", tmp_path)
        assert done.returncode == 0, done.stderr
    create, bulk, search, many = requests
    assert create[:3] == ("PUT", "/tiny", "application/json")
    assert bulk.path.startswith("/tiny/_bulk?refresh=true")
    assert (search.path, many.path) == ("/tiny/_search?pretty", "/tiny/_msearch")
    assert bulk.type == many.type == "application/x-ndjson"
    texts = {document.docid: document for document in open_documents(str(tiny_corpus))}
    stored = {action["index"]["_id"]: source for action, source in pairs(bulk.body)}
    assert {d: (s["title"], s["text"]) for d, s in stored.items()} == {
        docid: (document.title, document.text) for docid, document in texts.items()
    }
    assert create.body[0]["mappings"]["properties"]["text"] == {"type": "text"}
    assert search.body[0]["_source"] == ["title", "text"]
    with ImpactSearcher(tiny_index) as searcher:
        for line, (header, body) in zip(TOPICS.splitlines(), pairs(many.body), strict=True):
            hits = {hit.docid: hit.score for hit in searcher.search(line.partition("\t")[2], 30)}
            query = body["query"]
            scores = {docid: score_of(query, s["impacts"]) for docid, s in stored.items()}
            assert header == {} and {d: s for d, s in scores.items() if s} == hits


PROGRAM = f"{sys.executable} -m spade_pyserini topics"


def pairs(lines: list[Any]) -> list[tuple[Any, Any]]:
    return list(zip(lines[::2], lines[1::2], strict=True))


def test_texts_come_from_the_corpus_of_the_index_or_from_the_call(
    tiny_model: SpadeModel, tmp_path: Path, run: Commands
) -> None:
    (tmp_path / "a.csv").write_text("sku,title,text\n1,Cat,the old cat\n2,Dog,a new dog\n")
    (tmp_path / "b.csv").write_text("code,words\n2,a green dog\n")
    encode_corpus(open_documents(str(tmp_path / "a.csv")), tiny_model, tmp_path / "v")
    build_impact_index(tmp_path / "v", tmp_path / "x")
    call = ("export", "--input", tmp_path / "v", "--to", "opensearch", "--output", tmp_path / "o")
    assert run(*call, "--corpus", tmp_path / "b.csv").code == 2
    assert run(*call, "--with-text").code == 0
    assert sources(tmp_path / "o.bulk-0000.ndjson")["2"]["title"] == "Dog"
    fields = ("--id-field", "code", "--text-fields", "words", "--overwrite")
    other = run(*call, "--with-text", "--corpus", tmp_path / "b.csv", *fields)
    assert "1 documents have no text: they are not in the corpus" in other.err
    found = sources(tmp_path / "o.bulk-0000.ndjson")
    assert found["2"]["text"] == "a green dog" and "text" not in found["1"]
    (tmp_path / "a.csv").unlink()
    gone = run(*call, "--with-text", "--overwrite")
    assert gone.code == 1 and "name the corpus of the texts with --corpus" in gone.err
    assert run(*call[:4], "ciff", "--with-text").code == 2


def sources(bulk: Path) -> dict[str, dict[str, Any]]:
    lines = [json.loads(line) for line in bulk.read_text().splitlines()]
    return {action["index"]["_id"]: source for action, source in pairs(lines)}


def test_the_readme_of_ciff(tiny_index: Path, tmp_path: Path, run: Commands) -> None:
    call = ("export", "--index", tiny_index, "--to", "ciff", "--output", tmp_path / "t.ciff")
    shown = run(*call)
    assert shown.out.split() == [str(tmp_path / "t.ciff.README.md"), str(tmp_path / "t.ciff")]
    readme = tmp_path / "t.ciff.README.md"
    (program,) = fenced(readme.read_text(), "python")
    with ImpactSearcher(tiny_index) as searcher:
        best = searcher.search(example_query(tiny_index), 1)[0]
    assert f"({best.docid!r}, {best.score})" in run_program(program, tmp_path)
    (tmp_path / "topics.tsv").write_text(TOPICS)
    (command,) = (block for block in blocks(readme) if "spade topics" in block)
    done = shell(command.replace("TOPICS", "topics.tsv").replace("spade topics", PROGRAM), tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "queries.tsv").read_text().splitlines()[0] == "7\tthe old cat"


def test_an_index_without_a_tokenizer(
    index_without_tokenizer: Path, tmp_path: Path, run: Commands
) -> None:
    call = ("--index", index_without_tokenizer, "--to", "ciff", "--output", tmp_path / "t.ciff")
    assert run("export", *call).code == 0
    assert "--tokenizer MODEL" in (tmp_path / "t.ciff.README.md").read_text()


def test_names_and_examples(tiny_index: Path, tmp_path: Path) -> None:
    assert collection_name("_My Index+x") == "my-index+x"
    assert all(word.isalpha() for word in example_query(tiny_index).split())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("engine", "module"), [("pisa", "pyterrier_pisa"), ("milvus", "pymilvus")])
def test_the_programs_of_pisa_and_milvus(
    tiny_index: Path, tmp_path: Path, engine: str, module: str
) -> None:
    pytest.importorskip(module, reason=f"needs pip install 'spade_pyserini[{engine}]'")
    index = copy_artifact(tiny_index, tmp_path)
    target = ("--uri", tmp_path / "t.db") if engine == "milvus" else ("--output", tmp_path / "t.db")
    # The embedded Milvus keeps its file locked until the process ends.
    shown = child("spade_pyserini", "export", "--index", index, "--to", engine, *target)
    assert shown.returncode == 0, shown.stderr
    readme = Path(shown.stdout.splitlines()[0])
    single, many = fenced(readme.read_text(), "python")
    with ImpactSearcher(tiny_index) as searcher:
        best = searcher.search(example_query(tiny_index), 1)[0]
        first = searcher.search("the old cat", 1)[0]
    assert f" {best.score}\n" in run_program(single, tmp_path)
    (tmp_path / "topics.tsv").write_text(TOPICS)
    (command,) = (block for block in blocks(readme) if "spade topics" in block)
    done = shell(command.replace("TOPICS", "topics.tsv").replace("spade topics", PROGRAM), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 topics have no terms and therefore no hits: 8" in done.stderr
    assert first.docid in run_program(many, tmp_path)


def test_an_interrupted_export_is_completed(
    tiny_index: Path, tmp_path: Path, run: Commands
) -> None:
    """The README is written first. After a kill, the same command completes the export."""
    call = ("export", "--index", tiny_index, "--to", "ciff", "--output", tmp_path / "x.ciff")
    assert run(*call).code == 0
    content = (tmp_path / "x.ciff").read_bytes()
    (tmp_path / "x.ciff").unlink()
    assert run(*call).code == 0
    assert (tmp_path / "x.ciff").read_bytes() == content
    assert "x.ciff exists already" in run(*call).err
    (tmp_path / "x.ciff").unlink()
    (tmp_path / "x.ciff.README.md").write_text("mine\n")
    refused = run(*call)
    assert refused.code == 1 and "x.ciff.README.md exists already" in refused.err
    assert (tmp_path / "x.ciff.README.md").read_text() == "mine\n"
    assert not (tmp_path / "x.ciff").exists()


def test_a_failed_export_leaves_no_readme(tiny_index: Path, tmp_path: Path, run: Commands) -> None:
    (tmp_path / "x.ciff").write_text("mine\n")
    call = ("export", "--index", tiny_index, "--to", "ciff", "--output", tmp_path / "x.ciff")
    assert run(*call).code == 1
    assert [path.name for path in tmp_path.iterdir()] == ["x.ciff"]
