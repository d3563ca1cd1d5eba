"""Run the programs of docs/guide/integrations.md in a folder that has their index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spade_pyserini import SpadeModel, build_impact_index, encode_corpus, open_corpus
from spade_pyserini.lucene import jvm
from tests.conftest import ROOT
from tests.docs.pages import README, fenced

pytestmark = [pytest.mark.java, pytest.mark.filterwarnings("ignore")]
PROGRAMS = fenced((ROOT / "docs" / "guide" / "integrations.md").read_text(), "python")
# Modules of integrations/, and the library that must be installed for each of them.
OPTIONAL = {
    "pyterrier": "pyterrier",
    "beir": "beir.retrieval",
    "langchain": "langchain_core",
    "llama_index": "llama_index.core",
    "haystack": "haystack.document_stores",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the index that the first program of the README builds."""
    folder = tmp_path_factory.mktemp("integrations")
    (texts,) = re.findall(r"^texts = \[.*?\]$", README.read_text(), re.DOTALL | re.MULTILINE)
    names: dict[str, list[str]] = {}
    exec(texts, names)
    lines = [f"d{number}\t{text}\n" for number, text in enumerate(names["texts"])]
    (folder / "texts.tsv").write_text("".join(lines))
    model = SpadeModel.from_pretrained("spade-mini")
    encode_corpus(open_corpus(str(folder / "texts.tsv")), model, folder / "encode" / "texts")
    build_impact_index(folder / "encode" / "texts", folder / "index" / "texts")
    return folder


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda text: text.splitlines()[0][-40:])
def test_a_program_of_the_page(
    program: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    jvm.start()  # otherwise PyTerrier starts the JVM with other options
    for extra, library in OPTIONAL.items():
        if f"integrations.{extra}" in program:
            name = extra.replace("_", "-")
            pytest.importorskip(library, reason=f"needs pip install 'spade_pyserini[{name}]'")
    monkeypatch.chdir(folder)
    names: dict[str, object] = {"__name__": "program"}
    exec(compile(program, "integrations.md", "exec"), names)
    out = capsys.readouterr().out
    assert out if "print(" in program else len(names["frame"]) == 2  # type: ignore[arg-type]
    if "rank(" in program:
        assert out.startswith("1 {'remove': ")


def test_there_are_programs() -> None:
    assert len(PROGRAMS) >= 5
    assert all(len(program.splitlines()) <= 7 for program in PROGRAMS)
