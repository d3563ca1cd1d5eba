"""The memory of a process that searches."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from spade_pyserini.index import build_foreign_index
from tests.conftest import WORDS

pytestmark = pytest.mark.java

SEARCH = """
import json, sys
from pathlib import Path
from spade_pyserini import ImpactSearcher
megabytes = []
words = sys.argv[2].split()
with ImpactSearcher(sys.argv[1]) as searcher:
    for number in range(2000):
        query = " ".join(words[(number + step) % len(words)] for step in range(4))
        assert len(searcher.search(query, 1000)) == 1000
        if number % 250 == 249:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            megabytes.append(pages * 4096 / 1e6)
print(json.dumps(megabytes))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_process_that_searches_does_not_grow(tiny_index: Path, tmp_path: Path) -> None:
    """Run 2,000 queries with 1,000 hits each. Java's compiler temporarily takes about 50 MB."""
    words = [word for word in WORDS if not word.startswith("##")]
    (tmp_path / "v").mkdir()
    with (tmp_path / "v" / "a.jsonl").open("w") as stream:
        for number in range(1200):
            vector = {word: 1 + (number * step) % 200 for step, word in enumerate(words, 1)}
            stream.write(json.dumps({"id": f"doc{number}", "vector": vector}) + "\n")
    tokenizer = tiny_index.with_name("tiny.tokenizer.json")
    build_foreign_index(tmp_path / "v", tmp_path / "x", tokenizer)
    command = [sys.executable, "-c", SEARCH, str(tmp_path / "x"), " ".join(words)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    megabytes = json.loads(done.stdout)
    assert max(megabytes) < megabytes[0] + 90, megabytes
