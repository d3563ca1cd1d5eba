"""The documentation pages, and functions that extract code blocks and tables from them."""

from __future__ import annotations

import re
from pathlib import Path

from tests.conftest import ROOT

README = ROOT / "README.md"
CARDS = ROOT / "spade_pyserini" / "models" / "pretrained"
CARD = CARDS / "spade-mini" / "README.md"
GUIDES = sorted((ROOT / "docs" / "guide").glob("*.md"))
RESULTS = sorted((ROOT / "docs" / "results").glob("*.md"))
PAGES = [
    README,
    CARD,
    CARDS / "spade-mini-2" / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "spade_pyserini" / "corpora" / "pydoc_data" / "README.md",
    ROOT / "docs" / "index.md",
    ROOT / "examples" / "README.md",
    ROOT / "benchmarks" / "README.md",
    *(ROOT / name / "README.md" for name in ("encode", "index", "runs")),
    *GUIDES,
    *RESULTS,
]


def fenced(text: str, language: str) -> list[str]:
    """Return the contents of the fenced code blocks of a language, in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def tables(text: str) -> list[list[list[str]]]:
    """Return the tables of a page as rows of cells: header, line of dashes, other rows."""
    blocks = re.findall(r"(?:^\|.*\|\n)+", text, flags=re.MULTILINE)
    return [
        [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
        for block in blocks
    ]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def assert_same_output(shown: str, printed: str, tolerance: float = 2) -> None:
    """Check that the texts are equal, except for numbers, which may differ by up to ``tolerance``.

    Numbers differ between machines, because CPUs round differently.
    """
    number = r"\d+(?:\.\d+)?"
    assert re.sub(number, "N", printed.strip()) == re.sub(number, "N", shown.strip())
    pairs = zip(re.findall(number, shown), re.findall(number, printed), strict=True)
    for expected, actual in pairs:
        assert abs(float(expected) - float(actual)) <= tolerance, (shown, printed)
