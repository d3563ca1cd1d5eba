"""Encoding on a Ray cluster of two nodes on this machine; one node is killed."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from spade_pyserini import SpadeModel, encode_corpus, open_corpus
from spade_pyserini.corpora import Corpus
from spade_pyserini.encode import EncodeOptions
from spade_pyserini.errors import ArtifactError, NotFoundError, SpadeError
from spade_pyserini.formats.vector_manifest import VectorManifest
from spade_pyserini.formats.vectors import verify
from spade_pyserini.models import SpadeEncoder
from tests.commands import Commands
from tests.conftest import file_bytes, write_corpus
from tests.sharding.test_processes import half_for_others


def test_without_ray_the_error_says_how_to_install_it(
    tiny_corpus: Path,
    tiny_model: SpadeModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(NotFoundError, match=r"pip install 'spade_pyserini\[ray\]'"):
        encode_corpus(
            open_corpus(str(tiny_corpus)), tiny_model, tmp_path / "x", EncodeOptions(ray="local")
        )


def test_ray_and_processes_exclude_each_other(
    tiny_corpus: Path, tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    flags = ("--corpus", tiny_corpus, "--model", tiny_model_folder, "--output", tmp_path / "x")
    assert run("encode", *flags, "--ray", "local", "--processes", 2).code == 2


@pytest.fixture
def ray_with_two_workers() -> Iterator[None]:
    """Start Ray with two workers; stop it after the test."""
    ray: Any = pytest.importorskip("ray", reason="needs pip install 'spade_pyserini[ray]'")
    ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False)
    yield
    ray.shutdown()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("ray_with_two_workers")
def test_workers_and_driver_agree(
    tiny_model: SpadeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relative paths work; different corpora in the workers, and fp16 on a CPU, are errors."""
    path = write_corpus(tmp_path / "c", 40) / "corpus.jsonl"
    monkeypatch.chdir(tmp_path)
    corpus = open_corpus("c")
    expected = encode_corpus(
        corpus, tiny_model, tmp_path / "reference", EncodeOptions(shard_size=10)
    )
    assert (
        encode_corpus(corpus, tiny_model, "x", EncodeOptions(shard_size=10, ray="local"))
        == expected
    )
    other = Corpus("c", "c", partial(half_for_others, path, tmp_path / "seen"))
    with pytest.raises(ArtifactError, match=r"different corpora, of 20 and 40 documents"):
        encode_corpus(other, tiny_model, "y", EncodeOptions(shard_size=10, ray="local"))
    half = SpadeEncoder(tiny_model, precision="fp16")  # only the workers check the precision
    with pytest.raises(SpadeError, match="fp16"):
        encode_corpus(corpus, half, "z", EncodeOptions(shard_size=10, ray="local"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_killed_node_loses_no_shard(tiny_model: SpadeModel, tmp_path: Path) -> None:
    ray: Any = pytest.importorskip("ray", reason="needs pip install 'spade_pyserini[ray]'")
    from ray.cluster_utils import Cluster

    corpus = open_corpus("c", write_corpus(tmp_path / "c", 2000))
    expected = encode_corpus(
        corpus, tiny_model, tmp_path / "reference", EncodeOptions(shard_size=5)
    )
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    ray.init(address=cluster.address, log_to_driver=False)  # connect to the head node
    second = cluster.add_node(num_cpus=1)
    killed = []

    def kill() -> None:
        path = tmp_path / "x.manifest.json"
        while not path.exists() or len(VectorManifest.load(tmp_path / "x").shards) < 20:
            time.sleep(0.05)
        cluster.remove_node(second, allow_graceful=False)
        killed.append(len(VectorManifest.load(tmp_path / "x").shards))

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    try:
        manifest = encode_corpus(
            corpus, tiny_model, tmp_path / "x", EncodeOptions(shard_size=5, ray="auto")
        )
        killer.join(60)
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert killed and killed[0] < 400  # the node was killed before the end
    assert manifest == expected == verify(tmp_path / "x")
    assert file_bytes(tmp_path / "x") == file_bytes(tmp_path / "reference")
