"""The command `spade encode`: documents of the user, long documents, finished outputs."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from spade_pyserini import SpadeModel, read_vectors
from spade_pyserini.formats.sealed_json import read_sealed, write_sealed
from spade_pyserini.formats.vector_manifest import FORMAT, LENGTHS, VectorManifest, manifest_path
from tests.commands import Commands

CSV = "sku,title,description,color\nA1,house,the old cat sleeps,red\nA2,fish,a bird eats,blue\n"


@pytest.fixture
def products(tmp_path: Path) -> Path:
    path = tmp_path / "products.csv"
    path.write_text(CSV)
    return path


def test_a_csv_file_is_encoded(
    run: Commands, products: Path, tiny_model_folder: Path, tmp_path: Path
) -> None:
    result = run(
        "encode", "--corpus", products, "--model", tiny_model_folder, "--output", tmp_path / "x"
    )
    assert result.code == 0, result.err
    guess = "id from `sku`, title from `title`, text from `description`; not read: `color`"
    assert guess in result.err
    assert [vector.docid for vector in read_vectors(tmp_path / "x")] == ["A1", "A2"]


def test_no_fitting_column_is_explained_with_the_options(run: Commands, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("number,words\n1,red\n")
    result = run("encode", "--corpus", tmp_path / "a.csv", "--output", tmp_path / "x")
    assert result.code == 1
    assert "among the columns `number`, `words`" in result.err
    for option in ("--id-field COLUMN", "--id-field ':row'", "--title-field", "--text-fields"):
        assert option in result.err
    assert "Traceback" not in result.err


def test_other_fields_do_not_continue_an_output(
    run: Commands, products: Path, tiny_model_folder: Path, tmp_path: Path
) -> None:
    arguments = ("--corpus", products, "--model", tiny_model_folder, "--output", tmp_path / "x")
    assert run("encode", *arguments).code == 0
    same = run("encode", *arguments, "--id-field", "sku", "--text-fields", "description")
    assert same.code == 0
    assert "was finished already, nothing was encoded: 2 documents" in same.err
    changed = ("--text-fields", "description", "color")
    refused = run("encode", *arguments, *changed)
    assert refused.code == 1
    assert (
        "made with other settings (fields , now id sku; title title; text description, color"
        in (refused.err)
    )
    assert run("encode", *arguments, *changed, "--overwrite").code == 0
    assert VectorManifest.load(tmp_path / "x").settings.fields.endswith("text description, color")


def test_other_fields_do_not_use_the_counts_of_an_unfinished_output(
    run: Commands, products: Path, idf_model: SpadeModel, tmp_path: Path
) -> None:
    """--overwrite continues an unfinished output, but must count the terms of the new texts."""
    idf_model.save_pretrained(tmp_path / "idf")
    arguments = ("--corpus", products, "--model", tmp_path / "idf", "--output", tmp_path / "x")
    assert run("encode", *arguments).code == 0
    before = VectorManifest.load(tmp_path / "x")
    path = manifest_path(tmp_path / "x")
    write_sealed(path, {**read_sealed(path, FORMAT), "complete": False})
    assert run("encode", *arguments, "--text-fields", "color", "--overwrite").code == 0
    after = VectorManifest.load(tmp_path / "x")
    assert after.settings.counts_sha256 != before.settings.counts_sha256


def long_corpus(path: Path) -> Path:
    """Write documents of 0 to 60 WordPieces. The tiny model reads 30, plus [CLS] and [SEP]."""
    lengths = {"a": 10, "b": 30, "c": 31, "d": 60, "e": 0}
    with path.open("w") as stream:
        for docid, length in lengths.items():
            document = {"id": docid, "contents": " ".join(["cat"] * length)}
            stream.write(json.dumps(document) + "\n")
    return path


REPORT = "2 of 5 documents are longer than 32 WordPieces; 23.7 % of the text (31 of 131 WordPieces)"


@pytest.mark.parametrize("processes", [1, 2])
def test_long_documents_are_reported(
    run: Commands, tiny_model_folder: Path, tmp_path: Path, processes: int
) -> None:
    corpus = long_corpus(tmp_path / "long.jsonl")
    arguments = ("--corpus", corpus, "--model", tiny_model_folder, "--output", tmp_path / "x")
    settings = ("--shard-size", 2, "--processes", processes)
    result = run("encode", *arguments, *settings)
    assert result.code == 0, result.err
    assert REPORT in result.err
    assert "Usually, nothing is left out of passages of 150 words" in result.err
    assert VectorManifest.load(tmp_path / "x").lengths == (5, 131, 2, 31)


def test_long_passages_are_reported_with_a_smaller_window(
    run: Commands, tiny_model_folder: Path, tmp_path: Path
) -> None:
    """Training names the model folder ``best``, so its parent's name is the name of the model."""
    shutil.copytree(tiny_model_folder, tmp_path / "my-model" / "best")
    corpus = long_corpus(tmp_path / "long.jsonl")
    arguments = ("--corpus", corpus, "--model", tmp_path / "my-model" / "best")
    result = run("encode", *arguments, "--segment", "60:30", "--output", tmp_path / "x")
    assert result.code == 0, result.err
    assert "passages; less is left out of passages of 40 words" in result.err
    assert f"--segment 40:20 --model {arguments[-1]} --output {tmp_path}/long-passages-40" in (
        result.err
    )
    assert VectorManifest.load(tmp_path / "x").settings.model == "my-model"


def test_the_advice_for_long_documents_is_a_command_that_works(
    run: Commands, tiny_model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "my own").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "my own" / "report.txt").write_text("cat " * 60)
    arguments = ("--corpus", "../my own/report.txt", "--model", tiny_model_folder)
    advice = (
        f"spade encode --corpus '../my own/report.txt' --segment 150:75 --model {tiny_model_folder}"
        " --output encode/report-passages.tiny"
    )
    for overwrite in ((), ("--overwrite",)):
        result = run("encode", *arguments, *overwrite)
        assert result.code == 0, result.err
        assert f"to encode such passages: {advice}\n" in result.err
        assert "report.tiny: 1 document, " in result.err
        assert "1 of 1 document is longer than 32 WordPieces" in result.err
        source = VectorManifest.load(Path("encode/report.tiny")).source
        assert source == {"corpus": str(tmp_path / "my own" / "report.txt")}
    followed = run(*shlex.split(advice)[1:])
    assert (followed.code, followed.out) == (0, "encode/report-passages.tiny\n"), followed.err
    assert VectorManifest.load(Path("encode/report-passages.tiny")).source["segment"] == "150:75"


def test_other_passages_do_not_continue_an_output(
    run: Commands, tiny_model_folder: Path, tmp_path: Path
) -> None:
    corpus = long_corpus(tmp_path / "long.jsonl")
    arguments = ("--corpus", corpus, "--model", tiny_model_folder, "--output", tmp_path / "x")
    assert run("encode", *arguments).code == 0
    refused = run("encode", *arguments, "--segment", "20:10")
    assert refused.code == 1
    assert "was made with other settings (segment none, now 20:10); choose another" in refused.err
    assert run("encode", *arguments, "--segment", "20:10", "--overwrite").code == 0
    refused = run("encode", *arguments, "--segment", "20")
    assert "was made with other settings (segment 20:10, now 20:20); choose" in refused.err
    assert "(segment 20:10, now none)" in run("encode", *arguments).err


def test_other_passages_do_not_use_the_counts_of_an_unfinished_output(
    run: Commands, idf_model: SpadeModel, tmp_path: Path
) -> None:
    """--overwrite continues an unfinished output, but must count the terms of the passages."""
    idf_model.save_pretrained(tmp_path / "idf")
    corpus = long_corpus(tmp_path / "long.jsonl")
    arguments = ("--corpus", corpus, "--model", tmp_path / "idf", "--output", tmp_path / "x")
    assert run("encode", *arguments).code == 0
    before = VectorManifest.load(tmp_path / "x")
    path = manifest_path(tmp_path / "x")
    write_sealed(path, {**read_sealed(path, FORMAT), "complete": False})
    assert run("encode", *arguments, "--segment", "20", "--overwrite").code == 0
    after = VectorManifest.load(tmp_path / "x")
    assert after.settings.counts_sha256 != before.settings.counts_sha256


def test_continued_runs_report_all_long_documents(
    run: Commands, tiny_model_folder: Path, tmp_path: Path
) -> None:
    corpus = long_corpus(tmp_path / "long.jsonl")
    arguments = ("--corpus", corpus, "--model", tiny_model_folder, "--output", tmp_path / "x")
    assert REPORT in run("encode", *arguments, "--shard-size", 2).err
    (tmp_path / "x" / "docs0001.jsonl.gz").unlink()  # the next run encodes this shard again
    assert REPORT in run("encode", *arguments, "--shard-size", 2).err
    passages = run("encode", *arguments[:4], "--output", tmp_path / "y", "--segment", "30")
    assert passages.code == 0
    assert "longer than" not in passages.err


def test_parts_report_long_documents_when_they_are_merged(
    run: Commands, tiny_model_folder: Path, tmp_path: Path
) -> None:
    corpus = long_corpus(tmp_path / "long.jsonl")
    arguments = ("--corpus", corpus, "--model", tiny_model_folder, "--output", tmp_path / "x")
    for part in (0, 1):
        parts = ("--shard-size", 1, "--shard-id", part, "--shard-num", 2)
        assert run("encode", *arguments, *parts).code == 0
    merged = run("encode", "--merge", "--output", tmp_path / "x")
    assert merged.code == 0, merged.err
    assert REPORT in merged.err


def test_manifests_without_lengths_are_read_and_keep_their_bytes(
    run: Commands, tiny_model_folder: Path, tmp_path: Path
) -> None:
    corpus = long_corpus(tmp_path / "long.jsonl")
    arguments = ("--corpus", corpus, "--model", tiny_model_folder, "--output", tmp_path / "x")
    assert run("encode", *arguments).code == 0
    path = manifest_path(tmp_path / "x")
    values: dict[str, Any] = read_sealed(path, FORMAT)
    for shard in values["shards"]:
        for name in LENGTHS:
            del shard[name]
    write_sealed(path, values)
    before = path.read_bytes()
    result = run("encode", *arguments)
    assert result.code == 0, result.err
    assert "was finished already" in result.err
    assert "the lengths of 5 documents are unknown" in result.err
    assert path.read_bytes() == before


def test_a_finished_output_is_not_reported_as_new(
    run: Commands, tiny_corpus: Path, tiny_model_folder: Path, tmp_path: Path
) -> None:
    arguments = ("--corpus", tiny_corpus, "--model", tiny_model_folder, "--output", tmp_path / "x")
    assert "was finished already" not in run("encode", *arguments).err
    again = run("encode", *arguments)
    assert (again.code, again.out) == (0, f"{tmp_path / 'x'}\n")
    assert "was finished already, nothing was encoded: 30 documents" in again.err
    assert "was finished already" not in run("encode", *arguments, "--overwrite").err
