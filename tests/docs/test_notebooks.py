"""The notebooks run, and print the output that is saved in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.docs.pages import assert_same_output

pytestmark = [pytest.mark.slow, pytest.mark.java]

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_prints_what_it_shows(path: Path, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="needs the extra `docs`")
    nbclient = pytest.importorskip("nbclient", reason="needs the extra `docs`")
    pytest.importorskip("ipykernel", reason="needs the extra `docs`")
    notebook = nbformat.read(path, as_version=4)
    shown = printed(notebook)
    assert len(shown) > 100
    context = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=600, resources=context).execute()
    assert_same_output(shown, printed(notebook))


def test_there_are_two_small_notebooks() -> None:
    assert len(NOTEBOOKS) == 2
    assert all(path.stat().st_size < 100_000 for path in NOTEBOOKS)


def printed(notebook: Any) -> str:
    """Return what the cells of a notebook wrote to standard output."""
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    return "".join(output["text"] for output in outputs if output.get("name") == "stdout")
