"""A flipped bit in any file causes an error or has no effect; it never causes a wrong result.

The tests leave out the files of users (corpora, topics, judgements, runs), which have no checksums,
and the settings of a model, which users may edit.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from spade_pyserini import ImpactSearcher, SpadeModel, Topic, encode_corpus, open_corpus
from spade_pyserini.baselines.dense import dense_search, encode_dense
from spade_pyserini.corpora import expanded
from spade_pyserini.encode import EncodeOptions, merge_parts
from spade_pyserini.encode.counts_file import fit_encoder
from spade_pyserini.errors import SpadeError
from spade_pyserini.formats.components import read_components
from spade_pyserini.formats.vectors import read_vectors, verify
from spade_pyserini.index import build_bm25_index, build_impact_index
from spade_pyserini.index.verify import verify_index
from spade_pyserini.models import SpadeEncoder
from spade_pyserini.search.bm25 import Bm25Searcher
from spade_pyserini.train.checkpoint import load_checkpoint, save_checkpoint
from tests.faults.budget import Budget
from tests.faults.scenarios import Inputs
from tests.faults.table import Faults
from tests.faults.trials import run_here

pytestmark = pytest.mark.java
EDITABLE = {"config.json"}
QUERY = "the old cat sleeps"
Use = Callable[[Path], object]


class Artifacts:
    """Artifacts of all kinds that commands write, each with a function that reads all its files."""

    def __init__(self, inputs: Inputs, folder: Path) -> None:
        self.inputs = inputs
        corpus = open_corpus(str(inputs.corpus))
        model = SpadeModel.from_pretrained(inputs.idf_model)
        options = EncodeOptions(shard_size=12, components=True)
        encode_corpus(corpus, model, folder / "vectors" / "x", options)
        build_bm25_index(corpus, folder / "bm25" / "x")
        encode_dense(corpus, str(inputs.bi_encoder), folder / "dense" / "x", shard_size=12)
        (folder / "expansions").mkdir()
        command = [*"expand --per-doc 2 --max-new-tokens 4 --output x.jsonl".split()]
        command += ["--corpus", str(inputs.corpus), "--model", str(inputs.t5)]
        code, err = run_here(command, folder / "expansions")
        assert code == 0, err
        save_checkpoint(folder / "run" / "x", {"step": 3}, {"x": torch.arange(50.0)})
        self.kinds: dict[str, tuple[Path, Use]] = {
            "impact index": (inputs.index, self.search),
            "BM25 index": (folder / "bm25" / "x", self.search_bm25),
            "vectors": (folder / "vectors" / "x", self.read),
            "parts": (inputs.parts, self.merge),
            "embeddings": (folder / "dense" / "x", self.search_dense),
            "expansions": (folder / "expansions" / "x.jsonl", self.expand),
            "model": (inputs.idf_model, self.encode),
            "checkpoint": (folder / "run" / "x", self.resume),
        }

    def search(self, index: Path) -> object:
        with ImpactSearcher(index) as searcher:
            return searcher.search(QUERY, 100), searcher.doc("d3"), searcher.manifest

    def search_bm25(self, index: Path) -> object:
        with Bm25Searcher(index) as searcher:
            return searcher.search(QUERY, 100), searcher.manifest

    def read(self, folder: Path) -> object:
        """Read vectors, components and counts, and build an index, which reads the tokenizer."""
        manifest = verify(folder)
        encoder = SpadeEncoder.from_pretrained(self.inputs.idf_model)
        fitted = fit_encoder(encoder, folder.with_name(f"{folder.name}.counts.json"))
        components = list(read_components(folder))
        index = folder.with_name("built")
        built = build_impact_index(folder, index)
        assert verify_index(index).documents == built.documents
        return list(read_vectors(folder)), components, manifest, fitted.encode(["the old cat"])

    def merge(self, folder: Path) -> object:
        merge_parts(folder)
        return list(read_vectors(folder)), verify(folder)

    def search_dense(self, folder: Path) -> object:
        return dense_search(folder, [Topic("1", QUERY)])

    def expand(self, file: Path) -> object:
        return list(expanded(open_corpus(str(self.inputs.corpus)), file))

    def encode(self, folder: Path) -> object:
        return SpadeModel.from_pretrained(folder).encode(["the old cat", "a red river"])

    def resume(self, run: Path) -> object:
        checkpoint = load_checkpoint(run)
        assert checkpoint is not None
        state, tensors = checkpoint
        return state, {name: tensor.tolist() for name, tensor in tensors.items()}


@pytest.fixture(scope="module")
def artifacts(inputs: Inputs, tmp_path_factory: pytest.TempPathFactory) -> Artifacts:
    return Artifacts(inputs, tmp_path_factory.mktemp("artifacts"))


KINDS = (
    *("impact index", "BM25 index", "vectors", "parts", "embeddings", "expansions", "model"),
    "checkpoint",
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("flips", [1, pytest.param(12, marks=pytest.mark.slow)])
def test_a_flipped_bit_in_every_file(
    artifacts: Artifacts, faults: Faults, budget: Budget, tmp_path: Path, kind: str, flips: int
) -> None:
    source, use = artifacts.kinds[kind]
    expected = use(_copy(source, tmp_path / "expected"))
    numbers = random.Random(faults.seed)
    name = f"flipped bit, {kind}"
    files = _files(source) * flips
    tried = 0
    # Flip a bit in each file at least once.
    for file in budget.within(files, least=len(files) // flips):
        copy = _copy(source, tmp_path / "damaged")
        problem = _try_flip(copy.parent / file, copy, use, expected, numbers)
        tried += 1
        faults.record(name, problem, f"pytest tests/faults/test_flipped_bits.py -k '{kind}'")
        shutil.rmtree(copy.parent)
    faults.record_left(name, len(files) - tried)
    assert not faults.problems(name), faults.table()


def _copy(source: Path, target: Path) -> Path:
    """Copy an artifact and the files next to it; return the path of the copy.

    Checksums of a new path have not been verified before, so readers verify them.
    """
    target.mkdir()
    for path in (source, *source.parent.glob(f"{source.name}.*")):
        if path.is_dir():
            shutil.copytree(path, target / path.name)
        else:
            shutil.copy(path, target / path.name)
    return target / source.name


def _files(artifact: Path) -> list[str]:
    """Return the paths of an artifact's files and of the files next to it.

    The paths are relative to the parent folder. Empty files, locks and `EDITABLE` are left out.
    """
    paths = [artifact, *artifact.parent.glob(f"{artifact.name}.*")]
    files = [path for path in paths if path.is_file()]
    files += [file for path in paths for file in path.rglob("*") if file.is_file()]
    names = [path.relative_to(artifact.parent).as_posix() for path in files if path.stat().st_size]
    return sorted(name for name in names if Path(name).name not in {"write.lock", *EDITABLE})


def _try_flip(
    path: Path, artifact: Path, use: Use, expected: object, numbers: random.Random
) -> str | None:
    content = bytearray(path.read_bytes())
    bit = numbers.randrange(8 * len(content))
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)
    try:
        return None if use(artifact) == expected else f"{path.name}, bit {bit}: the result differs"
    except SpadeError as error:
        if str(artifact.parent) in str(error):
            return None
        return f"{path.name}, bit {bit}: the message names no file: {error}"
    except Exception as error:
        return f"{path.name}, bit {bit}: {type(error).__name__}: {error}"
