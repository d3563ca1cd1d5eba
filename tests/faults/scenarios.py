"""Scenarios: commands that write files, with their arguments and the inputs that they need."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from spade_pyserini import ImpactSearcher
from spade_pyserini.errors import SpadeError
from spade_pyserini.formats.index_manifest import IndexManifest, manifest_path
from spade_pyserini.index.opening import open_postings
from spade_pyserini.index.staging import LUCENE_FILE
from spade_pyserini.index.verify import verify_index
from spade_pyserini.search.bm25 import Bm25Searcher

CACHE = "cache"
QUERY = "the old cat sleeps"


@dataclass(frozen=True)
class Inputs:
    """The files that commands read. No command changes them."""

    corpus: Path
    model: Path
    idf_model: Path
    t5: Path
    bi_encoder: Path
    vectors: Path
    parts: Path
    added: Path
    index: Path
    recipe: Path
    topics: Path
    qrels: Path
    run: Path


@dataclass(frozen=True)
class Scenario:
    """A command. ``{name}`` in its arguments is a path of `Inputs`; other paths are outputs.

    - ``before``: inputs that are copied to the path of the output, ``x``, before the command runs.
    - ``again``: additional arguments when the command runs again after a fault.
    - ``lucene``: the output ``x`` is a Lucene index.
    - ``replaces``: the output is an existing index; readers see it until the new one is complete.
    - ``java``: the command starts the JVM, which takes more than a second.
    """

    name: str
    command: str
    before: tuple[str, ...] = ()
    again: str = ""
    lucene: bool = False
    replaces: bool = False
    java: bool = False

    def arguments(self, inputs: Inputs, *, again: bool = False) -> list[str]:
        """Return the arguments of the command."""
        command = f"{self.command} {self.again}" if again else self.command
        return [word.format(**vars(inputs)) for word in command.split()]

    def prepare(self, inputs: Inputs, folder: Path) -> Path:
        """Make the folder in which the command runs, with the inputs in ``before``."""
        folder.mkdir(parents=True)
        for name in self.before:
            source: Path = getattr(inputs, name)
            if source.is_file():
                shutil.copy2(source, folder / "x")
                continue
            shutil.copytree(source, folder / "x", copy_function=shutil.copy2)
            for path in source.parent.glob(f"{source.name}.*"):
                if path.is_dir():
                    shutil.copytree(path, folder / f"x{path.name.removeprefix(source.name)}")
                else:
                    shutil.copy2(path, folder / f"x{path.name.removeprefix(source.name)}")
        return folder

    def contents(self, folder: Path) -> dict[str, object]:
        """Return the contents of files by name, without the parts that differ between runs."""
        left: dict[str, object] = {}
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            # The bytes of Lucene's and TensorBoard's files differ between runs.
            other_tools = LUCENE_FILE.fullmatch(path.name) or name.startswith("x/tensorboard")
            if path.is_file() and not other_tools and not name.startswith(CACHE):
                left[name] = _content(path)
        if self.lucene:
            left["x"] = index_contents(folder / "x")
        return left


def _content(path: Path) -> object:
    if path.name == "log.jsonl":  # the speed differs between runs
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        return [{**line, "documents_per_second": None} for line in lines]
    if path.name.endswith(".manifest.json"):
        values = json.loads(path.read_bytes())
        if "commit" in values:  # a Lucene commit contains a random number
            return {**values, "commit": None, "seal": None}
    return path.read_bytes()


def index_contents(index: Path) -> object:
    """Verify an index, and return its hits and vectors as `answers` does."""
    verify_index(index)
    return answers(index)


def answers(index: Path) -> object:
    """Return the hits for `QUERY` and, of an impact index, all vectors.

    None if the index does not exist or cannot be read.
    """
    try:
        if manifest_path(index).is_file() and IndexManifest.load(index).kind == "bm25":
            with Bm25Searcher(index) as bm25:
                return bm25.search(QUERY, 100)
        with ImpactSearcher(index) as searcher:
            hits = searcher.search(QUERY, 100)
        with open_postings(index) as postings:
            return hits, sorted(postings.all_vectors())
    except SpadeError:
        return None


ENCODE = "encode --corpus {corpus} --output x --shard-size 12"
INDEX = "index --output x --threads 2"
SCENARIOS = [
    Scenario("encode", f"{ENCODE} --model {{idf_model}} --components"),
    Scenario("encode-spade-mini", ENCODE),
    Scenario("encode-processes", f"{ENCODE} --model {{model}} --processes 2"),
    Scenario("encode-part", f"{ENCODE} --model {{idf_model}} --shard-id 1 --shard-num 2"),
    Scenario("encode-merge", "encode --merge --output x", before=("parts",)),
    Scenario("encode-overwrite", f"{ENCODE} --model {{idf_model}} --overwrite", before=("added",)),
    Scenario("components", f"{ENCODE} --model {{model}} --components", before=("vectors",)),
    Scenario("index", f"{INDEX} --input {{vectors}}", lucene=True, java=True),
    Scenario("index-reorder", f"{INDEX} --input {{vectors}} --reorder", lucene=True, java=True),
    Scenario(
        "index-anserini", f"{INDEX} --input {{vectors}} --builder anserini", lucene=True, java=True
    ),
    Scenario("index-bm25", f"{INDEX} --bm25 --corpus {{corpus}}", lucene=True, java=True),
    Scenario(
        "index-overwrite",
        f"{INDEX} --input {{added}} --overwrite",
        ("index",),
        lucene=True,
        replaces=True,
        java=True,
    ),
    Scenario(
        "index-add",
        f"{INDEX} --input {{added}} --add",
        ("index",),
        lucene=True,
        replaces=True,
        java=True,
    ),
    Scenario(
        "index-delete",
        "index --output x --delete d1 d2",
        ("index",),
        lucene=True,
        replaces=True,
        java=True,
    ),
    Scenario("search", "search --index {index} --topics {topics} --output x", java=True),
    Scenario(
        "search-overwrite",
        "search --index {index} --topics {topics} --output x --overwrite",
        before=("run",),
        java=True,
    ),
    Scenario("fuse", "fuse --run {run} {run} --output x"),
    Scenario("topics", "topics --topics {topics} --index {index} --output x.tsv"),
    Scenario("report", "report --qrels {qrels} --run {run} --output x.html"),
    Scenario("explain", "explain --text cat --model {model} --html x.html"),
    Scenario("train", "train --recipe {recipe} --output x", again="--resume"),
    Scenario(
        "mine", "train --recipe {recipe} --stage mine --output x", again="--resume", java=True
    ),
    Scenario(
        "dense",
        "dense --corpus {corpus} --topics {topics} --model {bi_encoder} --index x --output x.run",
    ),
    Scenario(
        "expand",
        "expand --corpus {corpus} --model {t5} --output x.jsonl --per-doc 2 --max-length 32 "
        "--max-new-tokens 4 --batch-size 8 --shard-size 12",
    ),
    Scenario("export-ciff", "export --index {index} --to ciff --output x", java=True),
    Scenario("export-opensearch", "export --index {index} --to opensearch --output x", java=True),
]
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
