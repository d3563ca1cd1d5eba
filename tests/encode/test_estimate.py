"""`spade encode --estimate`: the time and the sizes that an encoding would take."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from spade_pyserini import EncodeOptions, SpadeModel, open_corpus
from spade_pyserini.encode import Estimate, Part, encode_corpus, estimate, estimate_encoding
from spade_pyserini.encode.estimate import show_estimate
from spade_pyserini.errors import InputError
from spade_pyserini.formats.paths import folder_bytes
from tests.commands import Commands
from tests.conftest import write_corpus

ESTIMATE = Estimate(
    documents=1_000_000,
    sample=256,
    read=20_000,
    rate=50.0,
    workers=4,
    counting=100.0,
    terms=250.0,
    vector_bytes=1000.0,
)


def test_time_and_sizes_follow_the_number_of_documents() -> None:
    assert ESTIMATE.seconds == 100 + 1_000_000 / 200
    assert ESTIMATE.vectors_size == 1e9
    assert ESTIMATE.index_size == 550e6
    shown = show_estimate(ESTIMATE, EncodeOptions(processes=2, part=Part(0, 2)))
    assert "time       85 minutes, 2 parts at the same time, 2 processes each" in shown
    assert "including 2 minutes to count the terms first" in shown
    assert "vectors    1.0 GB, 250 terms per document" in shown
    assert "index      550.00 MB" in shown
    assert "unknown" in show_estimate(replace(ESTIMATE, complete=False))


def test_the_time_is_that_of_the_worker_with_the_most_documents() -> None:
    small = replace(ESTIMATE, documents=3000, workers=2, counting=0.0)
    assert (small.most, small.seconds) == (2000, 40)
    assert [replace(small, documents=number).most for number in (999, 4000, 4500, 7000)] == [
        *(999, 2000, 2500, 4000)
    ]
    assert small.better is not None
    assert (small.better.shard_size, small.better.seconds) == (375, 30)
    assert replace(small, documents=100).better is None  # the shards would be too small
    assert replace(small, workers=1).better is None
    assert ESTIMATE.better is None


def test_the_whole_corpus_as_the_sample_gives_its_terms_and_size(
    tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    corpus = open_corpus(str(tiny_corpus))
    found = estimate_encoding(corpus, tiny_model)
    manifest = encode_corpus(corpus, tiny_model, tmp_path / "x")
    assert (found.documents, found.sample, found.read) == (30, 30, 30)
    assert found.terms == manifest.terms_per_document
    assert found.vectors_size == pytest.approx(folder_bytes(tmp_path / "x"))
    assert found.rate > 0 and found.complete and found.counting == 0


def test_a_model_that_counts_the_corpus(tiny_corpus: Path, idf_model: SpadeModel) -> None:
    found = estimate_encoding(open_corpus(str(tiny_corpus)), idf_model)
    assert found.counting > 0


def test_the_sample_of_corpus_level_pruning_takes_time(
    tiny_corpus: Path, idf_model: SpadeModel
) -> None:
    found = estimate_encoding(
        open_corpus(str(tiny_corpus)), idf_model.with_settings(corpus_gamma=0.5)
    )
    assert found.counting >= 30 / found.rate


def test_the_sample_is_spread_over_the_documents_that_are_read(
    corpus_of_95: Path, tiny_model: SpadeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimate, "READ", 40)
    threads = torch.get_num_threads()
    corpus = open_corpus(str(corpus_of_95))
    found = estimate_encoding(corpus, tiny_model, EncodeOptions(processes=2), sample=4)
    assert (found.sample, found.read, found.workers) == (4, 40, 2)
    assert found.documents == corpus.count() or not found.complete
    assert torch.get_num_threads() == threads
    chosen, _ = estimate._choose(corpus, EncodeOptions(), 4)
    assert [document.docid for document in chosen] == ["d0", "d10", "d20", "d30"]


def test_an_empty_corpus(tmp_path: Path, tiny_model: SpadeModel) -> None:
    (tmp_path / "a.jsonl").write_text("")
    with pytest.raises(InputError):
        estimate_encoding(open_corpus(str(tmp_path / "a.jsonl")), tiny_model)


def test_the_command_writes_nothing(
    run: Commands,
    tiny_corpus: Path,
    tiny_model_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("encode", "--corpus", tiny_corpus, "--model", tiny_model_folder, "--estimate")
    assert done.code == 0, done.err
    assert re.search(r"^documents  30$", done.out, re.MULTILINE)
    assert re.search(r"^time       \d+ seconds, 1 process$", done.out, re.MULTILINE)
    assert list(tmp_path.iterdir()) == []
    assert run("encode", "--corpus", tiny_corpus, "--estimate", "--merge").code == 2


def test_the_command_recommends_shards_that_divide_the_work_equally(
    run: Commands, tmp_path: Path, tiny_model_folder: Path
) -> None:
    corpus = write_corpus(tmp_path / "corpus", 1500)
    arguments = ("--corpus", corpus, "--model", tiny_model_folder, "--processes", 2, "--estimate")
    done = run("encode", *arguments)
    assert done.code == 0, done.err
    assert "A worker encodes up to 1,500 documents, because shards have 2,000;\n" in done.out
    assert "with --shard-size 188, the encoding takes" in done.out
    assert "A worker encodes" not in run("encode", *arguments, "--shard-size", 188).out
