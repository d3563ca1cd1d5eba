"""Commands report a wrong path or name before they load torch, which takes seconds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from spade_pyserini.cli.main import main
code = main(sys.argv[1:])
print(*(name for name in ("torch", "transformers") if name in sys.modules))
sys.exit(code)
"""
QRELS = "--qrels=pydoc/dev"
TOPICS = "--topics=pydoc/dev"
CALLS = [
    "encode --corpus NOWHERE",
    "encode --corpus CORPUS --model NOWHERE",
    "encode --corpus CORPUS --counts NOWHERE",
    "explain --corpus NOWHERE --docid d1",
    "explain --corpus CORPUS --docid NOWHERE",
    "explain --text cat --model NOWHERE",
    "explain --text cat --counts NOWHERE",
    "index --input NOWHERE",
    "index --bm25 --corpus NOWHERE",
    "search --index NOWHERE --query cat",
    f"search --index NOWHERE {TOPICS}",
    "search --index x --topics NOWHERE",
    f"sweep --components NOWHERE {TOPICS} {QRELS} --output out",
    f"sweep --components x --topics NOWHERE {QRELS} --output out",
    f"dense --corpus NOWHERE {TOPICS}",
    "dense --corpus CORPUS --topics NOWHERE",
    f"dense --corpus CORPUS {TOPICS} --model ./NOWHERE",
    "expand --corpus NOWHERE --model m/m --output out.jsonl",
    "expand --corpus CORPUS --model ./NOWHERE --output out.jsonl",
    f"rerank --run NOWHERE {TOPICS} --corpus CORPUS --model m/m",
    "train --recipe NOWHERE --output out",
    "train --recipe mini --set corpus=NOWHERE --output out",
    "train --recipe mini --set corpus=CORPUS --set queries=NOWHERE --output out",
    "finetune --pairs NOWHERE --output out",
    "finetune --corpus NOWHERE --queries pydoc/dev --qrels pydoc/dev --output out",
    "finetune --corpus CORPUS --queries NOWHERE --qrels pydoc/dev --output out",
    "finetune --corpus CORPUS --queries pydoc/dev --qrels pydoc/dev --model NOWHERE --output out",
    f"evaluate {QRELS} --run NOWHERE",
    f"report {QRELS} --run NOWHERE --output out.html",
    "stats --index NOWHERE",
]


@pytest.mark.parametrize("call", CALLS)
def test_the_mistake_is_one_line(call: str, tiny_corpus: Path, tmp_path: Path) -> None:
    words = call.replace("CORPUS", str(tiny_corpus)).replace("NOWHERE", "no-where").split()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1
    assert "no-where" in done.stderr
    assert done.stdout == "\n"  # neither torch nor transformers was imported
