from __future__ import annotations

import json
from pathlib import Path

import pytest

from spade_pyserini.errors import InputError
from spade_pyserini.formats.tables import read_csv, render


def test_tables_for_papers_and_programs() -> None:
    header, rows = ["run_1", "MRR@10"], [["a & b", "0.5000◇"]]
    assert render(header, rows, "markdown").splitlines()[1:] == [
        "| --- | ---: |",
        "| a & b | 0.5000◇ |",
    ]
    latex = render(header, rows, "latex")
    assert r"run\_1 & MRR@10 \\" in latex
    assert r"a \& b & 0.5000$^{\diamond}$ \\" in latex
    assert render(header, rows, "csv") == "run_1,MRR@10\na & b,0.5000◇"
    assert json.loads(render(header, [["x", "0.5"]], "json")) == [{"run_1": "x", "MRR@10": 0.5}]
    topics = render(["run", "topic", "AP"], [["x", "007", "0.5"]], "json", left=(0, 1))
    assert json.loads(topics) == [{"run": "x", "topic": "007", "AP": 0.5}]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n1,2,3\n", ":3: expected 2 columns, found 3"),
        ('a,b\n1,"2\n', "not valid CSV"),
        ("a,b\n", "at least one row"),
    ],
)
def test_malformed_tables(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(InputError, match=message):
        read_csv(tmp_path / "t.csv")
