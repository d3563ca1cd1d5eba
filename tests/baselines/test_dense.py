"""Dense search: embeddings in shards, and exact search with FAISS."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from spade_pyserini import Topic, open_corpus, read_run
from spade_pyserini.baselines.dense import dense_search, encode_dense
from spade_pyserini.baselines.embeddings import DenseFiles
from spade_pyserini.errors import ArtifactError, InputError, NotFoundError, OutputExistsError
from spade_pyserini.formats.paths import sibling
from spade_pyserini.formats.sealed_json import write_sealed
from spade_pyserini.models.minilm import minilm_folder
from tests.commands import Commands
from tests.conftest import write_corpus

TOPICS = [Topic("q1", "an old cat that sleeps"), Topic("q2", "copy a file"), Topic("q3", "river")]


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return the modification time and contents of each file, by name."""
    return {
        path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in sorted(folder.iterdir())
    }


@pytest.fixture
def index(tiny_corpus: Path, tmp_path: Path) -> Path:
    """Embeddings of thirty documents in three shards."""
    folder = tmp_path / "tiny.minilm.dense"
    assert encode_dense(open_corpus(str(tiny_corpus)), "minilm", folder, shard_size=12) == 30
    return folder


def test_scores_are_cosines(index: Path, tiny_corpus: Path) -> None:
    model = SentenceTransformer(str(minilm_folder()))
    documents = list(open_corpus(str(tiny_corpus)))
    rows = model.encode([document.contents for document in documents], batch_size=1)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rankings = dense_search(index, TOPICS, hits=8)
    assert [ranking.qid for ranking in rankings] == ["q1", "q2", "q3"]
    for topic, ranking in zip(TOPICS, rankings, strict=True):
        query = model.encode([topic.text])[0]
        cosines = rows @ (query / np.linalg.norm(query))
        docids = [document.docid for document in documents]
        expected = dict(zip(docids, map(float, cosines), strict=True))
        scores = [hit.score for hit in ranking.hits]
        assert scores == sorted(scores, reverse=True)
        assert scores == pytest.approx(sorted(expected.values(), reverse=True)[:8], abs=1e-5)
        assert scores == pytest.approx([expected[hit.docid] for hit in ranking.hits], abs=1e-5)
    all_hits = dense_search(index, TOPICS[:1], hits=1000)[0].hits
    assert sorted(hit.docid for hit in all_hits) == sorted(docids)


def test_shards_are_normalised_rows_with_their_docids(index: Path) -> None:
    names = [f"docs000{number}" for number in range(3)]
    assert list(state(index)) == [f"{name}.{form}" for name in names for form in ("json", "npy")]
    docids = []
    for name in names:
        rows = np.load(index / f"{name}.npy")
        assert rows.dtype == np.float32
        assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-5)
        docids += json.loads((index / f"{name}.json").read_text())["docids"]
    assert docids == [f"d{number}" for number in range(30)]
    manifest = json.loads(sibling(index, "manifest.json").read_text())
    assert [shard["documents"] for shard in manifest["shards"]] == [12, 12, 6]
    assert (manifest["complete"], manifest["documents"]) == (True, 30)
    assert manifest["settings"]["model"] == "minilm"


def test_equal_documents_are_ordered_by_docid(tmp_path: Path) -> None:
    lines = [f"{docid}\ta red bird\n" for docid in ("z", "b", "m")]
    (tmp_path / "twins.tsv").write_text("".join(lines))
    encode_dense(open_corpus(str(tmp_path / "twins.tsv")), "minilm", tmp_path / "x")
    (ranking,) = dense_search(tmp_path / "x", [Topic("1", "bird")])
    assert [hit.docid for hit in ranking.hits] == ["b", "m", "z"]


def test_finished_shards_are_kept(index: Path, tiny_corpus: Path) -> None:
    corpus, before = open_corpus(str(tiny_corpus)), state(index)
    encode_dense(corpus, "minilm", index, shard_size=12)
    assert state(index) == before
    (index / "docs0001.npy").write_bytes(b"cut")
    with pytest.raises(ArtifactError, match=r"docs0001.npy: missing or damaged"):
        dense_search(index, TOPICS)
    (index / "docs0002.json").unlink()
    encode_dense(corpus, "minilm", index, shard_size=12)
    after = state(index)
    assert {name: content for name, (_, content) in after.items()} == {
        name: content for name, (_, content) in before.items()
    }
    kept = {name for name in before if after[name][0] == before[name][0]}
    assert kept == {"docs0000.json", "docs0000.npy"}


@pytest.mark.slow
def test_kill_9_then_the_same_call_completes(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus", 60)
    code = (
        "from spade_pyserini import open_corpus; "
        "from spade_pyserini.baselines.dense import encode_dense; "
        f"encode_dense(open_corpus({str(corpus)!r}), 'minilm', {str(tmp_path / 'x')!r}, 2)"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    deadline = time.monotonic() + 120
    manifest = tmp_path / "x.manifest.json"
    while not (manifest.exists() and json.loads(manifest.read_text())["shards"]):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = state(tmp_path / "x")
    assert len(before) < 60
    recorded = DenseFiles().load(tmp_path / "x").shards
    assert recorded
    with pytest.raises(ArtifactError, match="not finished; embed the same corpus"):
        dense_search(tmp_path / "x", TOPICS)
    assert encode_dense(open_corpus(str(corpus)), "minilm", tmp_path / "x", 2) == 60
    after = state(tmp_path / "x")
    for shard in recorded:
        for name in (shard.file, shard.file.replace(".npy", ".json")):
            assert after[name] == before[name]
    assert len(dense_search(tmp_path / "x", TOPICS)[0].hits) == 60


def test_another_corpus_or_model_is_refused(index: Path, tiny_corpus: Path, tmp_path: Path) -> None:
    before, rankings = state(index), dense_search(index, TOPICS)
    other = open_corpus(str(write_corpus(tmp_path / "other", 5)))
    with pytest.raises(OutputExistsError, match=r"\(corpus tiny, now other\); choose another"):
        encode_dense(other, "minilm", index, shard_size=12)
    model = SentenceTransformer(str(minilm_folder()))
    next(model.parameters()).data.mul_(1.01)
    model.save(str(tmp_path / "mine"))
    corpus = open_corpus(str(tiny_corpus))
    with pytest.raises(OutputExistsError, match=r"\(model minilm, now .*/mine; model_fingerprint "):
        encode_dense(corpus, str(tmp_path / "mine"), index, shard_size=12)
    changed = open_corpus("tiny", write_corpus(tmp_path / "changed", 29))
    with pytest.raises(ArtifactError, match=r"docs0002.npy was made from other documents"):
        encode_dense(changed, "minilm", index, shard_size=12)
    shorter = open_corpus("tiny", write_corpus(tmp_path / "shorter", 24))
    with pytest.raises(ArtifactError, match=r"docs0002.npy was made from other documents"):
        encode_dense(shorter, "minilm", index, shard_size=12)
    assert state(index) == before
    assert dense_search(index, TOPICS) == rankings  # a refusal does not change a finished index
    assert encode_dense(shorter, "minilm", index, 12, overwrite=True) == 24
    assert len(dense_search(index, TOPICS)[0].hits) == 24
    assert encode_dense(other, "minilm", index, 12, overwrite=True) == 5
    assert list(state(index)) == ["docs0000.json", "docs0000.npy"]


def test_an_interrupted_replacement_is_unfinished(
    index: Path, tiny_corpus: Path, tmp_path: Path
) -> None:
    """Old and new shards are never searched together."""
    lines = (tiny_corpus / "corpus.jsonl").read_text().splitlines(keepends=True)
    broken = tmp_path / "broken.jsonl"
    broken.write_text("".join(lines[:20]).replace("d3", "d3-new") + "broken\n")
    with pytest.raises(InputError, match=r"broken.jsonl:21"):
        encode_dense(open_corpus("tiny", broken), "minilm", index, 12, overwrite=True)
    with pytest.raises(ArtifactError, match="not finished; embed the same corpus"):
        dense_search(index, TOPICS)


def test_a_model_with_other_weights_than_the_embeddings(tiny_corpus: Path, tmp_path: Path) -> None:
    model = SentenceTransformer(str(minilm_folder()))
    model.save(str(tmp_path / "mine"))
    encode_dense(open_corpus(str(tiny_corpus)), str(tmp_path / "mine"), tmp_path / "x")
    next(model.parameters()).data.mul_(1.01)
    model.save(str(tmp_path / "mine"))
    with pytest.raises(ArtifactError, match=r"the weights of .* have changed since"):
        dense_search(tmp_path / "x", TOPICS)


def test_other_folders_and_missing_models(tiny_corpus: Path, tmp_path: Path) -> None:
    corpus = open_corpus(str(tiny_corpus))
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "docs.npy").write_bytes(b"precious")
    with pytest.raises(OutputExistsError, match=r"docs\.npy, which this command did not write"):
        encode_dense(corpus, "minilm", tmp_path / "theirs", overwrite=True)
    assert (tmp_path / "theirs" / "docs.npy").read_bytes() == b"precious"
    vectors = tmp_path / "vectors"
    vectors.mkdir()
    (vectors / "docs0000.jsonl.gz").write_bytes(b"precious")
    (tmp_path / "vectors.manifest.json").write_text('{"format": "spade_pyserini.vectors/1"}')
    with pytest.raises(OutputExistsError, match=r"docs0000.* which this command did not write"):
        encode_dense(corpus, "minilm", vectors, overwrite=True)
    assert "vectors/1" in (tmp_path / "vectors.manifest.json").read_text()
    with pytest.raises(ArtifactError, match=r"has no manifest \(theirs.manifest.json\)"):
        dense_search(tmp_path / "theirs", TOPICS)
    with pytest.raises(NotFoundError, match="'no-such/model' cannot be loaded: ") as error:
        encode_dense(corpus, "no-such/model", tmp_path / "x")
    assert "\n" not in str(error.value)
    (tmp_path / "empty.tsv").write_text("")
    with pytest.raises(InputError):
        encode_dense(open_corpus(str(tmp_path / "empty.tsv")), "minilm", tmp_path / "x")


def test_a_damaged_manifest(index: Path, tiny_corpus: Path) -> None:
    path = sibling(index, "manifest.json")
    path.write_text(path.read_text().replace('"documents": 30', '"documents": 31'))
    with pytest.raises(ArtifactError, match="edited or damaged"):
        encode_dense(open_corpus(str(tiny_corpus)), "minilm", index, 12)
    assert encode_dense(open_corpus(str(tiny_corpus)), "minilm", index, 12, overwrite=True) == 30
    assert len(dense_search(index, TOPICS)) == 3


def test_the_command(
    tiny_corpus: Path, tmp_path: Path, run: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("topics.few.tsv").write_text("".join(f"{qid}\t{text}\n" for qid, text in TOPICS))
    arguments = ("--corpus", tiny_corpus, "--topics", "topics.few.tsv", "--hits", 5)
    result = run("dense", *arguments)
    output = Path("runs", "run.tiny.minilm-dense.few.txt")
    assert (result.code, result.out) == (0, f"{output}\n")
    expected = dense_search(Path("index", "tiny.minilm.dense"), TOPICS, 5)
    written = read_run(output)
    assert [[hit.docid for hit in ranking.hits] for ranking in written] == [
        [hit.docid for hit in ranking.hits] for ranking in expected
    ]
    assert output.read_text().split()[5] == "minilm-dense"
    before = state(Path("index", "tiny.minilm.dense"))
    assert "exists already" in run("dense", *arguments).err
    assert run("dense", *arguments, "--overwrite").code == 0
    assert state(Path("index", "tiny.minilm.dense")) == before  # only the run is replaced
    other = write_corpus(tmp_path / "other", 5)
    same_index = ("--topics", "topics.few.tsv", "--index", "index/tiny.minilm.dense")
    result = run("dense", "--corpus", other, *same_index)
    assert result.code == 1
    assert "corpus tiny, now other" in result.err


def as_version_1(index: Path, shards: int) -> None:
    """Rewrite the manifest in the format of older versions."""
    path = sibling(index, "manifest.json")
    settings = json.loads(path.read_text())["settings"]
    values = {"settings": settings, "shards": shards, "documents": 30}
    write_sealed(path, {"format": "spade_pyserini.dense/1", **values})


def test_embeddings_of_an_older_version(index: Path, tiny_corpus: Path) -> None:
    corpus, before, rankings = (
        open_corpus(str(tiny_corpus)),
        state(index),
        dense_search(index, TOPICS),
    )
    as_version_1(index, 3)
    assert dense_search(index, TOPICS) == rankings
    assert encode_dense(corpus, "minilm", index, shard_size=12) == 30
    assert state(index) == before
    as_version_1(index, 0)  # unfinished
    (index / "docs0001.json").unlink()
    with pytest.raises(ArtifactError, match="not finished"):
        dense_search(index, TOPICS)
    assert encode_dense(corpus, "minilm", index, shard_size=12) == 30
    assert state(index)["docs0000.npy"] == before["docs0000.npy"]
    assert dense_search(index, TOPICS) == rankings
    as_version_1(index, 3)
    (index / "docs0001.json").unlink()
    with pytest.raises(ArtifactError, match="not finished"):  # a missing shard is an error
        dense_search(index, TOPICS)
