"""Fixtures: an impact and a BM25 index of hostile texts, judgements, and a server process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from spade_pyserini import SpadeModel, build_bm25_index, build_impact_index, encode_corpus
from spade_pyserini.corpora import open_corpus
from tests.conftest import WORDS

HOSTILE = {
    "../../etc/passwd": ("<script>window.broken = 1</script>", "the cat <b>runs</b> to a house"),
    'a"onmouseover="x': ("</title><img src=x onerror='window.broken = 2'>", "old cat & red dog"),
    "javascript:alert(1)": ("\u202ecat\u202c {{style}} ${1}", "</script><script>window.broken = 3"),
}
QUERY = "the old cat"


@dataclass(frozen=True)
class Folders:
    """The paths of the inputs of a server."""

    corpus: Path
    index: Path
    bm25: Path
    qrels: Path
    topics: Path


class Server(NamedTuple):
    """A running server, and what it printed before it answered."""

    process: subprocess.Popen[str]
    address: str
    printed: str

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.address + path, timeout=60) as answer:
            return json.load(answer)

    def stop(self, number: int = signal.SIGTERM) -> str:
        """Send a signal; return what was printed after the address."""
        self.process.send_signal(number)
        out, _ = self.process.communicate(timeout=300)
        return out


def write_documents(path: Path, count: int = 24) -> Path:
    words = [word for word in WORDS if not word.startswith("##")]
    rows = [
        {
            "id": f"d{number}",
            "title": words[number % len(words)],
            "text": " ".join(words[(number * step) % len(words)] for step in range(1, 7)),
        }
        for number in range(count)
    ]
    rows += [{"id": key, "title": title, "text": text} for key, (title, text) in HOSTILE.items()]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


@pytest.fixture(scope="session")
def folders(tiny_model: SpadeModel, tmp_path_factory: pytest.TempPathFactory) -> Folders:
    folder = tmp_path_factory.mktemp("serve")
    corpus = open_corpus(str(write_documents(folder / "texts.jsonl")))
    encode_corpus(corpus, tiny_model, folder / "encode" / "texts")
    build_impact_index(folder / "encode" / "texts", folder / "index" / "texts")
    build_bm25_index(corpus, folder / "index" / "bm25")
    (folder / "topics.tsv").write_text(f"1\t{QUERY}\n2\ta big dog\n")
    (folder / "qrels.txt").write_text("1 0 d1 1\n1 0 d2 0\n2 0 d3 1\n")
    return Folders(
        folder / "texts.jsonl",
        folder / "index" / "texts",
        folder / "index" / "bm25",
        folder / "qrels.txt",
        folder / "topics.tsv",
    )


def start_server(*arguments: object) -> Server:
    """Run ``spade serve`` on a free port; return when it answers."""
    command = [sys.executable, "-m", "spade_pyserini", "serve", "--port", "0"]
    process = subprocess.Popen(
        [*command, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("serving "):
            return Server(process, line.split(" at ")[1].split("/  (")[0], "".join(lines))
    raise AssertionError(f"the server did not start: {''.join(lines)}")


@pytest.fixture(scope="session")
def server(folders: Folders, tiny_model_folder: Path) -> Iterator[Server]:
    judged = ("--qrels", folders.qrels, "--topics", folders.topics)
    served = start_server(
        *("--index", folders.index, "--bm25", folders.bm25, "--model", tiny_model_folder), *judged
    )
    yield served
    served.process.kill()
    served.process.communicate()
