from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from spade_pyserini import (
    SpadeConfig,
    SpadeModel,
    encode_corpus,
    open_corpus,
    read_vectors,
)
from spade_pyserini.encode import EncodeOptions
from spade_pyserini.encode.batches import batches
from spade_pyserini.encode.options import BATCH_TOKENS, SHARD_SIZE
from spade_pyserini.errors import ArtifactError, InputError, OutputExistsError, SpadeError
from spade_pyserini.formats.files import lock
from spade_pyserini.formats.vectors import VectorManifest, shard_name, verify
from spade_pyserini.models.wordpieces import PRETRAINED, WordPieces
from spade_pyserini.sharding.ledger import Ledger
from spade_pyserini.sharding.part import ALL_SHARDS
from tests.commands import Commands
from tests.conftest import write_corpus


def shards(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_vectors_are_what_the_model_says(
    tiny_vectors: Path, tiny_corpus: Path, tiny_model: SpadeModel
) -> None:
    documents = list(open_corpus(str(tiny_corpus)))
    vectors = list(read_vectors(tiny_vectors))
    assert [vector.docid for vector in vectors] == [document.docid for document in documents]
    alone = tiny_model.encode([document.contents for document in documents], batch_size=1)
    for vector, expected in zip(vectors, alone, strict=True):
        # Another batch may round a weight to the other side.
        for term in vector.impacts.keys() | expected.keys():
            assert abs(vector.impacts.get(term, 0) - expected.get(term, 0)) <= 1


def test_the_manifest_tells_all(tiny_vectors: Path, tiny_model: SpadeModel) -> None:
    manifest = verify(tiny_vectors)
    assert [shard.file for shard in manifest.shards] == [f"docs000{i}.jsonl.gz" for i in range(3)]
    assert [shard.documents for shard in manifest.shards] == [12, 12, 6]
    vectors = list(read_vectors(tiny_vectors))
    assert manifest.documents == len(vectors) == 30
    assert manifest.terms == sum(len(vector.impacts) for vector in vectors)
    assert manifest.impacts == sum(sum(vector.impacts.values()) for vector in vectors)
    settings = manifest.settings
    assert (settings.alpha, settings.k, settings.bits, settings.scale) == (0.5, 3, 8, 40.0)
    assert settings.model_fingerprint == tiny_model.fingerprint
    assert settings.tokenizer_fingerprint == tiny_model.wordpieces.fingerprint


def test_batches_hold_every_document_once_within_the_budget() -> None:
    ids = [[0] * length for length in (5, 3, 9, 1, 30, 3, 3)]
    found = list(batches(ids, 12))
    assert sorted(place for _, places in found for place in places) == list(range(7))
    for batch, _ in found:
        assert len(batch) == 1 or len(batch) * max(map(len, batch)) <= 12


def test_less_than_a_twentieth_of_what_is_encoded_is_padding() -> None:
    """As long as a corpus's documents are: shards of the docstrings, of the default size."""
    texts = [document.contents for document in open_corpus("pydoc")]
    ids = WordPieces.load(PRETRAINED / "spade-mini").document_ids(texts, 256)
    for start in range(0, len(ids), SHARD_SIZE):
        shard = ids[start : start + SHARD_SIZE]
        encoded = sum(len(one) * max(map(len, one)) for one, _ in batches(shard, BATCH_TOKENS))
        assert sum(map(len, shard)) > 0.95 * encoded


def test_a_shard_that_no_manifest_knows_is_encoded_again(
    tiny_vectors: Path, tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    """A kill comes between the shard and the manifest, which is saved every now and then."""
    corpus, folder = open_corpus(str(tiny_corpus)), tmp_path / "x"
    whole = encode_corpus(corpus, tiny_model, folder, EncodeOptions(shard_size=12))
    replace(whole, complete=False, shards=whole.shards[:1]).save(folder)
    (folder / "docs0001.jsonl.gz").write_bytes(b"cut")
    assert encode_corpus(corpus, tiny_model, folder, EncodeOptions(shard_size=12)) == whole
    assert shards(folder) == shards(tiny_vectors)


def test_saving_the_manifest_takes_a_small_part_of_the_time(
    tiny_vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest, now, saved = verify(tiny_vectors), 0.0, []

    def save(self: VectorManifest, *_: object) -> None:
        nonlocal now
        now += 1.0
        saved.append(len(self.shards))

    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(VectorManifest, "save", save)
    with closing(Ledger(replace(manifest, shards=[]), tmp_path / "x", ALL_SHARDS)) as ledger:
        for number in range(100):
            ledger.add(replace(manifest.shards[0], file=shard_name(number)))
            now += 1.0
    assert saved == [1, 21, 41, 61, 81, 100]


def test_the_same_call_again_does_nothing(
    tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    corpus, folder = open_corpus(str(tiny_corpus)), tmp_path / "x"
    first = encode_corpus(corpus, tiny_model, folder, EncodeOptions(shard_size=12))
    times = [path.stat().st_mtime_ns for path in sorted(folder.iterdir())]
    assert encode_corpus(corpus, tiny_model, folder, EncodeOptions(shard_size=12)) == first
    assert [path.stat().st_mtime_ns for path in sorted(folder.iterdir())] == times


def test_a_lost_shard_is_made_again_byte_for_byte(
    tiny_vectors: Path, tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    corpus, folder = open_corpus(str(tiny_corpus)), tmp_path / "x"
    encode_corpus(corpus, tiny_model, folder, EncodeOptions(shard_size=12))
    assert shards(folder) == shards(tiny_vectors)
    (folder / "docs0001.jsonl.gz").unlink()
    (folder / "docs0002.jsonl.gz").write_bytes(b"cut")
    encode_corpus(corpus, tiny_model, folder, EncodeOptions(shard_size=12))
    assert shards(folder) == shards(tiny_vectors)


def test_kill_9_then_the_same_command_completes(
    tiny_model_folder: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "corpus", 400)
    command = [sys.executable, "-m", "spade_pyserini.encode", "--corpus", str(corpus)]
    command += ["--model", str(tiny_model_folder), "--shard-size", "10"]
    process = subprocess.Popen([*command, "--output", str(tmp_path / "killed")])
    manifest = tmp_path / "killed.manifest.json"
    deadline = time.monotonic() + 120
    while not (manifest.exists() and json.loads(manifest.read_text())["shards"]):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    interrupted = VectorManifest.load(tmp_path / "killed")
    assert not interrupted.complete
    kept = {
        shard.file: (tmp_path / "killed" / shard.file).stat().st_mtime_ns
        for shard in interrupted.shards
    }
    corpus_again = open_corpus(str(corpus))
    name = tiny_model_folder.name
    encode_corpus(
        corpus_again, tiny_model, tmp_path / "killed", EncodeOptions(model_name=name, shard_size=10)
    )
    encode_corpus(
        corpus_again, tiny_model, tmp_path / "whole", EncodeOptions(model_name=name, shard_size=10)
    )
    assert shards(tmp_path / "killed") == shards(tmp_path / "whole")
    for file, modified in kept.items():
        assert (tmp_path / "killed" / file).stat().st_mtime_ns == modified
    assert verify(tmp_path / "killed").documents == 400


def test_a_full_disk_loses_no_finished_shard(
    tiny_vectors: Path, tiny_corpus: Path, tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    names = iter(("first", "second", "third"))

    def name(_: int) -> str:
        (tmp_path / "x.docs0001.jsonl.gz.second.tmp").unlink(missing_ok=True)
        (tmp_path / "x.docs0001.jsonl.gz.second.tmp").symlink_to("/dev/full")
        return next(names)

    arguments = ("--corpus", tiny_corpus, "--model", tiny_model_folder, "--output", tmp_path / "x")
    with pytest.MonkeyPatch.context() as patch:  # the kernel's own ENOSPC
        patch.setattr("spade_pyserini.formats.vectors.token_hex", name)
        result = run("encode", *arguments, "--shard-size", 12)
    assert result.code == 1
    assert "the disk is full" in result.err
    assert "Traceback" not in result.err
    assert "docs0000.jsonl.gz" in shards(tmp_path / "x")
    assert "docs0001.jsonl.gz" not in shards(tmp_path / "x")
    assert run("encode", *arguments, "--shard-size", 12).code == 0
    assert shards(tmp_path / "x") == shards(tiny_vectors)


def test_other_settings_into_the_same_folder_are_refused(
    tiny_corpus: Path, tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    arguments = ("--corpus", tiny_corpus, "--model", tiny_model_folder, "--output", tmp_path / "x")
    assert run("encode", *arguments).code == 0
    before = shards(tmp_path / "x")
    result = run("encode", *arguments, "--alpha", 0.2)
    assert result.code == 1
    assert "alpha 0.5, now 0.2" in result.err
    assert shards(tmp_path / "x") == before
    assert run("encode", *arguments, "--alpha", 0.2, "--overwrite").code == 0
    assert verify(tmp_path / "x").settings.alpha == 0.2
    assert shards(tmp_path / "x") != before


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_folder_of_somebody_elses_is_never_touched(
    tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path, overwrite: bool
) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "precious.txt").write_text("keep")
    with pytest.raises(OutputExistsError, match=r"precious\.txt, which is not of our making"):
        encode_corpus(
            open_corpus(str(tiny_corpus)),
            tiny_model,
            tmp_path / "x",
            EncodeOptions(overwrite=overwrite),
        )
    assert (tmp_path / "x" / "precious.txt").exists()


def test_shards_without_a_manifest_need_overwrite(
    tiny_vectors: Path, tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    shutil.copytree(tiny_vectors, tmp_path / "x")
    corpus = open_corpus(str(tiny_corpus))
    with pytest.raises(OutputExistsError, match="no manifest of ours"):
        encode_corpus(corpus, tiny_model, tmp_path / "x")
    encode_corpus(corpus, tiny_model, tmp_path / "x", EncodeOptions(overwrite=True))
    assert verify(tmp_path / "x").documents == 30


def test_overwriting_what_is_unfinished_takes_the_documents_as_they_are_now(
    tiny_model: SpadeModel, tmp_path: Path
) -> None:
    corpus = open_corpus("c", write_corpus(tmp_path / "a", 30))
    manifest = encode_corpus(corpus, tiny_model, tmp_path / "x", EncodeOptions(shard_size=10))
    replace(manifest, complete=False).save(tmp_path / "x")
    path = tmp_path / "a" / "corpus.jsonl"
    lines = path.read_text().replace('"d15"', '"changed"').splitlines()
    path.write_text("\n".join(lines[:20]))
    encode_corpus(corpus, tiny_model, tmp_path / "x", EncodeOptions(shard_size=10, overwrite=True))
    assert [vector.docid for vector in read_vectors(tmp_path / "x")][15] == "changed"
    assert verify(tmp_path / "x").documents == 20


def test_a_scale_is_not_inherited_from_another_corpus(tiny_backbone: Path, tmp_path: Path) -> None:
    model = SpadeModel.from_backbone(tiny_backbone, SpadeConfig(max_length=32))
    first = open_corpus("one", write_corpus(tmp_path / "one", 30))
    (tmp_path / "two.jsonl").write_text('{"id": "x", "contents": "river"}')
    second = open_corpus(str(tmp_path / "two.jsonl"))
    fresh = encode_corpus(second, model, tmp_path / "fresh").settings.scale
    encode_corpus(first, model, tmp_path / "x")
    again = encode_corpus(
        second, model, tmp_path / "x", EncodeOptions(overwrite=True)
    ).settings.scale
    assert again == fresh


def test_a_lost_tokenizer_is_written_again(
    tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    corpus = open_corpus(str(tiny_corpus))
    encode_corpus(corpus, tiny_model, tmp_path / "x")
    tokenizer = tmp_path / "x.tokenizer.json"
    whole = tokenizer.read_bytes()
    tokenizer.unlink()
    encode_corpus(corpus, tiny_model, tmp_path / "x")
    assert tokenizer.read_bytes() == whole


def test_two_runs_into_one_output(
    tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    with (
        lock(tmp_path / "x"),
        pytest.raises(OutputExistsError, match="another process is writing it"),
    ):
        encode_corpus(open_corpus(str(tiny_corpus)), tiny_model, tmp_path / "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--output", "file"), 1),
        (("--output", "file/x"), 1),
        (("--output", "x" * 300), 1),
        (("--output", "/proc/x"), 1),
        (("--corpus", "y" * 300), 1),
        (("--alpha", 7), 2),
        (("--alpha", "nan"), 2),
        (("--max-length", 100_000), 2),
        (("--device", "cuda:99"), 2),
        (("--device", "meta"), 2),
        (("--device", "toaster"), 2),
        (("--model", "nowhere"), 1),
    ],
)
def test_wrong_arguments_are_one_line(
    tiny_corpus: Path,
    tiny_model_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: Commands,
    arguments: tuple[object, ...],
    code: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("keep")
    result = run("encode", "--corpus", tiny_corpus, "--model", tiny_model_folder, *arguments)
    assert result.code == code
    assert result.err.splitlines()[0].startswith("error: ")
    assert (tmp_path / "file").read_text() == "keep"


def test_the_folder_one_is_in(
    tiny_corpus: Path,
    tiny_model_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run: Commands,
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    arguments = ("--corpus", tiny_corpus, "--model", tiny_model_folder, "--output", ".")
    assert run("encode", *arguments).code == 0
    assert verify(tmp_path / "here").documents == 30


def test_documents_that_changed_are_refused(
    tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    shutil.copytree(tiny_corpus, tmp_path / "tiny")
    encode_corpus(open_corpus(str(tmp_path / "tiny")), tiny_model, tmp_path / "x")
    path = tmp_path / "tiny" / "corpus.jsonl"
    path.write_text(path.read_text().replace("cat", "dog"))
    with pytest.raises(ArtifactError, match="made from other documents"):
        encode_corpus(open_corpus(str(tmp_path / "tiny")), tiny_model, tmp_path / "x")


def test_documents_that_are_gone_are_noticed_too(tiny_model: SpadeModel, tmp_path: Path) -> None:
    encode_corpus(
        open_corpus("c", write_corpus(tmp_path / "a", 20)),
        tiny_model,
        tmp_path / "x",
        EncodeOptions(shard_size=10),
    )
    shorter = open_corpus("c", write_corpus(tmp_path / "b", 10))
    with pytest.raises(ArtifactError, match=r"docs0001.* made from other documents"):
        encode_corpus(shorter, tiny_model, tmp_path / "x", EncodeOptions(shard_size=10))
    assert verify(tmp_path / "x").documents == 20


def test_a_repair_that_is_killed_forgets_no_later_shard(
    tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus, folder = open_corpus(str(tiny_corpus)), tmp_path / "x"
    whole = encode_corpus(corpus, tiny_model, folder, EncodeOptions(shard_size=5))
    (folder / "docs0001.jsonl.gz").unlink()
    (folder / "docs0003.jsonl.gz").unlink()

    def killed(*_: object) -> None:
        raise SystemExit

    real = ShardEncoder.encode
    monkeypatch.setattr(
        ShardEncoder,
        "encode",
        lambda self, prepared, told: (
            real(self, prepared, told) if prepared.number == 1 else killed()
        ),
    )
    with pytest.raises(SystemExit):
        encode_corpus(corpus, tiny_model, folder, EncodeOptions(shard_size=5))
    assert VectorManifest.load(folder).shards == whole.shards


def test_a_damaged_manifest_can_be_overwritten(
    tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    corpus = open_corpus(str(tiny_corpus))
    whole = encode_corpus(corpus, tiny_model, tmp_path / "x")
    (tmp_path / "x.manifest.json").write_text("{}")
    with pytest.raises(InputError):
        encode_corpus(corpus, tiny_model, tmp_path / "x")
    assert encode_corpus(corpus, tiny_model, tmp_path / "x", EncodeOptions(overwrite=True)) == whole


def test_odd_documents_are_counted_and_kept(tiny_model: SpadeModel, tmp_path: Path) -> None:
    documents = {
        "empty": "",
        "blank": " \n\t ",
        "huge": "the cat sleeps " * 70_000,  # 1 MB
        "control": "cat\x00\x07\x1b[31m dog \u200b bird\u2028fish",
        "unknown": "\U0001f600 \u4e2d",
        "plain": "the cat",
    }
    path = tmp_path / "corpus.jsonl"
    lines = [json.dumps({"id": docid, "contents": text}) for docid, text in documents.items()]
    path.write_text("\n".join(lines))
    manifest = encode_corpus(open_corpus(str(path)), tiny_model, tmp_path / "x")
    vectors = {vector.docid: vector.impacts for vector in read_vectors(tmp_path / "x")}
    assert list(vectors) == list(documents)
    assert manifest.documents == 6
    assert manifest.shards[0].empty == ["empty", "blank", "unknown"]
    assert [docid for docid, impacts in vectors.items() if not impacts] == manifest.shards[0].empty


def test_a_document_without_terms_is_listed(
    tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"id": "a", "contents": "the old cat sleeps"}\n{"id": "b", "contents": ""}\n')
    arguments = ("--corpus", path, "--model", tiny_model_folder)
    result = run("encode", *arguments, "--output", tmp_path / "x")
    assert result.code == 0
    assert "1 documents have no terms and cannot be found: b" in result.err
    assert VectorManifest.load(tmp_path / "x").shards[0].empty == ["b"]


def test_a_model_that_gives_nan_writes_nothing(
    tiny_corpus: Path, tiny_backbone: Path, tmp_path: Path
) -> None:
    model = SpadeModel.from_backbone(tiny_backbone)
    model.reconfigure(scale=1.0, max_length=32)
    with torch.no_grad():
        model.expansion.head.bias[30] = float("nan")
    with pytest.raises(ArtifactError, match="NaN or infinite"):
        encode_corpus(open_corpus(str(tiny_corpus)), model, tmp_path / "x")
    assert shards(tmp_path / "x") == {}


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_a_device_without_memory_is_told_with_the_cure(
    tiny_corpus: Path,
    tiny_model: SpadeModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    device: str,
) -> None:
    def full(*_inputs: torch.Tensor) -> None:
        if device == "cuda":
            raise torch.OutOfMemoryError("CUDA out of memory")
        torch.empty(2**55)  # the CPU's own RuntimeError

    monkeypatch.setattr(tiny_model, "forward", full)
    corpus = open_corpus(str(tiny_corpus))
    with pytest.raises(SpadeError, match=r"of 512 WordPieces; .* smaller --batch-tokens and"):
        encode_corpus(corpus, tiny_model, tmp_path / "x", EncodeOptions(batch_tokens=512))
    assert shards(tmp_path / "x") == {}
    monkeypatch.undo()
    encode_corpus(
        corpus, tiny_model, tmp_path / "x", EncodeOptions(batch_tokens=64, overwrite=True)
    )
    assert verify(tmp_path / "x").documents == 30


def test_a_bad_line_stops_without_losing_what_is_done(
    tiny_corpus: Path, tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    shutil.copytree(tiny_corpus, tmp_path / "tiny")
    path = tmp_path / "tiny" / "corpus.jsonl"
    good = path.read_text()
    lines = good.splitlines()
    lines[20] = lines[20][:-5]
    path.write_text("\n".join(lines))
    arguments = ("--corpus", path.parent, "--model", tiny_model_folder, "--output", tmp_path / "x")
    result = run("encode", *arguments, "--shard-size", 10)
    assert result.code == 1
    assert f"{path}:21: not valid JSON" in result.err
    assert list(shards(tmp_path / "x")) == ["docs0000.jsonl.gz", "docs0001.jsonl.gz"]
    path.write_text(good)
    assert run("encode", *arguments, "--shard-size", 10).code == 0
    assert verify(tmp_path / "x").documents == 30


def test_an_uncalibrated_model_is_calibrated_before_it_starts(
    tiny_corpus: Path, tiny_backbone: Path, tmp_path: Path
) -> None:
    model = SpadeModel.from_backbone(tiny_backbone, SpadeConfig(max_length=32))
    encode_corpus(open_corpus(str(tiny_corpus)), model, tmp_path / "x")
    largest = max(max(vector.impacts.values()) for vector in read_vectors(tmp_path / "x"))
    assert largest == 255
    assert model.config.scale is None
