"""Commands, options, links and paths on the documentation pages exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import spade_pyserini
from spade_pyserini.train.stages import STAGES
from tests.commands import Commands
from tests.conftest import ROOT
from tests.docs.pages import GUIDES, PAGES, README, RESULTS, relative

COMMAND = re.compile(r"(?:^|`)\s*spade ([a-z]+)\b([^`\n]*)", re.MULTILINE)
NAMES = [relative(page) for page in PAGES]


def commands(text: str) -> list[tuple[str, list[str]]]:
    """Return the name and options of each `spade COMMAND` in the code of a page."""
    joined = re.sub(r"\\\n\s*", " ", text)
    code = re.findall(r"```\w*\n.*?```|`[^`]+`|(?:^ {4}.*\n)+", joined, re.DOTALL | re.MULTILINE)
    calls = []
    for block in code:
        inside = re.sub(r"^```\w*\n|```$", "", block)
        for name, rest in COMMAND.findall(inside):
            calls.append((name, re.findall(r"(?<!\S)--[a-z][a-z0-9-]*", rest.split("#")[0])))
    return calls


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_commands_and_options_exist(page: Path, run: Commands) -> None:
    helps: dict[str, str] = {}
    for name, options in commands(page.read_text()):
        if name == "pyserini":  # these are options of Pyserini
            continue
        if name not in helps:
            done = run(name, "--help")
            assert done.code == 0, done.err
            helps[name] = done.out
        for option in options:
            pattern = rf"{option}(?![\w-])"  # so that --id does not match --id-field
            assert re.search(pattern, helps[name]), f"spade {name} has no {option}"


def test_commands_are_recognized() -> None:
    """`commands` finds the commands on the pages."""
    text = "run `spade index --verify` or\n\n    spade encode --corpus X \\\n        --model Y\n"
    assert commands(text) == [("index", ["--verify"]), ("encode", ["--corpus", "--model"])]
    assert sum(len(commands(page.read_text())) for page in PAGES) > 50


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text()):
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.exists(), target
        if anchor:
            assert anchor in headings(path), target


def headings(page: Path) -> list[str]:
    """Return the anchors of the headings, as GitHub and mkdocs generate them."""
    lines = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", line).lower().replace(" ", "-") for line in lines]


def test_paths_in_the_table_of_equations_exist() -> None:
    text = (ROOT / "docs" / "guide" / "training.md").read_text()
    table = text.partition("## Equations of the paper")[2].partition("\n## ")[0]
    paths = re.findall(r"`([\w/]+\.py)(?:: (\w+))?`", table)
    assert len(paths) > 15
    for path, name in paths:
        file = ROOT / path if path.startswith("tests/") else ROOT / "spade_pyserini" / path
        assert file.is_file(), path
        assert f"def {name}(" in file.read_text() or not name, (path, name)


def test_stages_of_training_exist() -> None:
    stages = [name for page in PAGES for name in re.findall(r"--stage ([a-z-]+)", page.read_text())]
    assert len(set(stages)) > 2
    assert set(stages) <= {"mine", "teach", *STAGES}


def test_no_page_contains_a_local_path() -> None:
    """Paths of the author's machine do not exist on the reader's machine."""
    notebooks = sorted((ROOT / "examples").glob("*.ipynb"))
    assert notebooks
    for page in [*PAGES, *notebooks, ROOT / "CHANGELOG.md", ROOT / "mkdocs.yml"]:
        for word in ("../shared", "/work/", "/root/", "/home/"):
            assert word not in page.read_text(), (relative(page), word)


def test_every_guide_and_result_is_on_the_site_and_on_the_first_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    site = (ROOT / "mkdocs.yml").read_text()
    assert GUIDES
    assert RESULTS
    for page in [*GUIDES, *RESULTS]:
        name = str(page.relative_to(ROOT / "docs"))
        assert f"({name})" in index
        assert f"- {name}\n" in site


def test_every_public_name_is_in_the_reference() -> None:
    pages = [page.read_text() for page in (ROOT / "docs" / "reference").glob("*.md")]
    documented = {
        name for page in pages for name in re.findall(r"^::: spade_pyserini\.(\w+)$", page, re.M)
    }
    assert documented | {"SpadeError"} == {*spade_pyserini.__all__, "errors"}


def test_citations_agree() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == spade_pyserini.__version__
    (paper,) = citation["references"]
    for name in (
        paper["doi"],
        paper["title"],
        *(author["family-names"] for author in paper["authors"]),
    ):
        assert name in README.read_text()


@pytest.mark.slow
def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    pytest.importorskip("mkdocstrings", reason="needs the extra `docs`, which `make docs` installs")
    command = ["mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "encode_corpus" in (tmp_path / "reference" / "encode" / "index.html").read_text()
