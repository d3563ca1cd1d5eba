"""Continue, replace or refuse the output of an earlier run."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from spade_pyserini import (
    SpadeModel,
    encode_corpus,
    open_corpus,
    read_vectors,
)
from spade_pyserini.encode import EncodeOptions
from spade_pyserini.encode.task import VectorTask
from spade_pyserini.errors import ArtifactError, InputError, OutputExistsError
from spade_pyserini.formats.locks import lock
from spade_pyserini.formats.vector_manifest import VectorManifest
from spade_pyserini.formats.vectors import verify
from tests.commands import Commands
from tests.conftest import file_bytes, write_corpus


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
    assert file_bytes(folder) == file_bytes(tiny_vectors)
    (folder / "docs0001.jsonl.gz").unlink()
    (folder / "docs0002.jsonl.gz").write_bytes(b"cut")
    encode_corpus(corpus, tiny_model, folder, EncodeOptions(shard_size=12))
    assert file_bytes(folder) == file_bytes(tiny_vectors)


def test_a_shard_that_is_not_in_the_manifest_is_encoded_again(
    tiny_vectors: Path, tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    """The run was killed after a shard was written and before the manifest was saved."""
    corpus, folder = open_corpus(str(tiny_corpus)), tmp_path / "x"
    expected = encode_corpus(corpus, tiny_model, folder, EncodeOptions(shard_size=12))
    replace(expected, complete=False, shards=expected.shards[:1]).save(folder)
    (folder / "docs0001.jsonl.gz").write_bytes(b"cut")
    assert encode_corpus(corpus, tiny_model, folder, EncodeOptions(shard_size=12)) == expected
    assert file_bytes(folder) == file_bytes(tiny_vectors)


def test_a_repair_that_is_killed_keeps_all_records(
    tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus, folder = open_corpus(str(tiny_corpus)), tmp_path / "x"
    expected = encode_corpus(corpus, tiny_model, folder, EncodeOptions(shard_size=5))
    (folder / "docs0001.jsonl.gz").unlink()
    (folder / "docs0003.jsonl.gz").unlink()

    def killed(*_: object) -> None:
        raise SystemExit

    real = VectorTask.compute
    monkeypatch.setattr(
        VectorTask,
        "compute",
        lambda self, prepared, advance: (
            real(self, prepared, advance) if prepared.number == 1 else killed()
        ),
    )
    with pytest.raises(SystemExit):
        encode_corpus(corpus, tiny_model, folder, EncodeOptions(shard_size=5))
    assert VectorManifest.load(folder).shards == expected.shards


def test_other_settings_into_the_same_folder_are_refused(
    tiny_corpus: Path, tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    arguments = ("--corpus", tiny_corpus, "--model", tiny_model_folder, "--output", tmp_path / "x")
    assert run("encode", *arguments).code == 0
    before = file_bytes(tmp_path / "x")
    result = run("encode", *arguments, "--alpha", 0.2)
    assert result.code == 1
    assert "alpha 0.5, now 0.2" in result.err
    assert file_bytes(tmp_path / "x") == before
    assert run("encode", *arguments, "--alpha", 0.2, "--overwrite").code == 0
    assert verify(tmp_path / "x").settings.alpha == 0.2
    assert file_bytes(tmp_path / "x") != before


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_folder_with_other_files_is_never_changed(
    tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path, overwrite: bool
) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "precious.txt").write_text("keep")
    with pytest.raises(OutputExistsError, match=r"precious\.txt, which this command did not write"):
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
    with pytest.raises(OutputExistsError, match=r"has no manifest; .* overwrite=True"):
        encode_corpus(corpus, tiny_model, tmp_path / "x")
    encode_corpus(corpus, tiny_model, tmp_path / "x", EncodeOptions(overwrite=True))
    assert verify(tmp_path / "x").documents == 30


def test_overwriting_an_unfinished_output_reads_the_current_documents(
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


def test_two_runs_into_one_output(
    tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    with (
        lock(tmp_path / "x"),
        pytest.raises(OutputExistsError, match="another process is writing it"),
    ):
        encode_corpus(open_corpus(str(tiny_corpus)), tiny_model, tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_documents_that_changed_are_refused(
    tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    shutil.copytree(tiny_corpus, tmp_path / "tiny")
    encode_corpus(open_corpus(str(tmp_path / "tiny")), tiny_model, tmp_path / "x")
    path = tmp_path / "tiny" / "corpus.jsonl"
    path.write_text(path.read_text().replace("cat", "dog"))
    with pytest.raises(ArtifactError, match="made from other documents"):
        encode_corpus(open_corpus(str(tmp_path / "tiny")), tiny_model, tmp_path / "x")


def test_documents_that_were_removed_are_noticed(tiny_model: SpadeModel, tmp_path: Path) -> None:
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


def test_a_damaged_manifest_can_be_overwritten(
    tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    corpus = open_corpus(str(tiny_corpus))
    expected = encode_corpus(corpus, tiny_model, tmp_path / "x")
    (tmp_path / "x.manifest.json").write_text("{}")
    with pytest.raises(InputError):
        encode_corpus(corpus, tiny_model, tmp_path / "x")
    assert (
        encode_corpus(corpus, tiny_model, tmp_path / "x", EncodeOptions(overwrite=True)) == expected
    )
