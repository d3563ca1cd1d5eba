"""Corpus-level pruning: expansion terms that the model adds to too many documents are removed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from spade_pyserini import SpadeModel, encode_corpus, open_corpus, read_vectors
from spade_pyserini.analysis.sweep.components import Components
from spade_pyserini.encode import EncodeOptions, Part, merge_parts
from spade_pyserini.encode.corpus_pruning import LEAST, EvenSample, describe_removed, find_noise
from spade_pyserini.encode.counts_file import counts_path, fit_encoder
from spade_pyserini.errors import ArtifactError, OutputExistsError
from spade_pyserini.formats.components import read_components
from spade_pyserini.formats.vector_manifest import VectorManifest
from spade_pyserini.formats.vectors import verify
from spade_pyserini.models import SpadeEncoder
from spade_pyserini.records import RemovedTerm
from tests.commands import Commands
from tests.conftest import file_bytes, write_corpus

GAMMA = 0.3
OPTIONS = EncodeOptions(shard_size=20)


@pytest.fixture(scope="module")
def corpus_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpora") / "noisy", LEAST + 20)


@pytest.fixture(scope="module")
def pruning_model(tiny_model: SpadeModel) -> SpadeModel:
    return tiny_model.with_settings(corpus_gamma=GAMMA)


@pytest.fixture(scope="module")
def pruned(
    corpus_folder: Path, pruning_model: SpadeModel, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Pruned vectors, written by one process. The tests share them: do not change them."""
    folder = tmp_path_factory.mktemp("encode") / "pruned"
    encode_corpus(open_corpus(str(corpus_folder)), pruning_model, folder, OPTIONS)
    return folder


def test_a_sample_is_spread_evenly() -> None:
    def sample(stream: int) -> list[int]:
        texts = EvenSample(8)
        for number in range(stream):
            texts.add(str(number))
        return [int(text) for text in texts.texts]

    assert sample(0) == []
    assert sample(8) == list(range(8))
    assert sample(9) == [0, 2, 4, 6, 8]
    assert sample(1000) == list(range(0, 1000, 128))
    for stream in range(9, 300):
        steps = {b - a for a, b in zip(sample(stream), sample(stream)[1:], strict=False)}
        assert len(steps) == 1 and 4 <= len(sample(stream)) <= 8


def test_terms_in_many_expansions_and_few_texts_are_noise(
    corpus_folder: Path, pruning_model: SpadeModel
) -> None:
    texts = [document.contents for document in open_corpus(str(corpus_folder))]
    encoder = SpadeEncoder(pruning_model)
    ids = encoder.wordpieces.document_ids(texts, 32)
    expected = []
    for term_id, term in enumerate(encoder.wordpieces.terms):
        share = sum(float(encoder.components([one])[1][0, term_id] > 0) for one in ids) / len(ids)
        own = sum(term_id in one for one in ids) / len(ids)
        if share > GAMMA and own < 0.2 * share:
            expected.append(RemovedTerm(term, round(share, 4), round(own, 4)))
    removed = find_noise(encoder, texts)
    assert sorted(removed) == sorted(expected)
    assert len(removed) > 1
    assert [term.expanded for term in removed] == sorted(
        (term.expanded for term in removed), reverse=True
    )
    # The removed terms depend on corpus_gamma and corpus_few, but not on these four settings.
    other = encoder.with_settings(alpha=0.1, prune_ratio=0.9, saturate=True, scale=1.0)
    assert find_noise(other, texts) == removed
    assert find_noise(encoder.with_settings(corpus_gamma=1.0), texts) == ()
    assert find_noise(encoder.with_settings(corpus_few=0.0), texts) == ()
    assert find_noise(encoder, texts[: LEAST - 1]) == ()  # too few documents to decide


def test_what_is_removed_and_what_stays(
    corpus_folder: Path, pruning_model: SpadeModel, tiny_model: SpadeModel, pruned: Path
) -> None:
    corpus = open_corpus(str(corpus_folder))
    texts = [document.contents for document in corpus]
    manifest = verify(pruned)
    encoder = fit_encoder(SpadeEncoder(pruning_model), counts_path(pruned))
    assert (
        manifest.removed_expansions
        == list(encoder.removed)
        == [*find_noise(SpadeEncoder(pruning_model), texts)]
    )
    vectors = [vector.impacts for vector in read_vectors(pruned)]
    assert vectors == encoder.encode(texts) != tiny_model.encode(texts)
    names = {term.term for term in manifest.removed_expansions}
    own = [set(tiny_model.wordpieces.query_terms(text)) for text in texts]
    full = tiny_model.encode(texts)
    for terms, before, after in zip(own, full, vectors, strict=True):
        assert set(before) - set(after) == (set(before) & names) - terms
        assert {term for term in names & terms if term in before} <= set(after)
    # The manifest and the counts file list the removed terms.
    values = json.loads((pruned.parent / "pruned.manifest.json").read_text())
    stored = json.loads(counts_path(pruned).read_text())["corpus_pruning"]
    assert values["removed_expansions"] == stored["removed"]
    assert values["removed_expansions"][0]["term"] in names
    assert (values["settings"]["corpus_gamma"], stored["gamma"], stored["few"]) == (0.3, 0.3, 0.2)
    assert stored["sample"] == len(texts)


def test_parts_and_processes_write_the_same_bytes(
    corpus_folder: Path, pruning_model: SpadeModel, pruned: Path, tmp_path: Path
) -> None:
    corpus = open_corpus(str(corpus_folder))
    for number in (1, 0):
        options = replace(OPTIONS, part=Part(number, 2))
        encode_corpus(corpus, pruning_model, tmp_path / "parts", options)
    assert merge_parts(tmp_path / "parts") == verify(pruned)
    encode_corpus(corpus, pruning_model, tmp_path / "two", replace(OPTIONS, processes=2))
    for folder in ("parts", "two"):
        assert file_bytes(tmp_path / folder) == file_bytes(pruned)
        assert verify(tmp_path / folder) == verify(pruned)
        assert counts_path(tmp_path / folder).read_bytes() == counts_path(pruned).read_bytes()


def test_a_killed_run_is_continued(
    corpus_folder: Path, pruning_model: SpadeModel, pruned: Path, tmp_path: Path
) -> None:
    model, killed = tmp_path / "model", tmp_path / "killed"
    pruning_model.save_pretrained(model)
    command = [sys.executable, "-m", "spade_pyserini.encode", "--corpus", str(corpus_folder)]
    command += ["--model", str(model), "--shard-size", "20", "--output", str(killed)]
    process = subprocess.Popen(command)
    while not counts_path(killed).exists():
        assert process.poll() is None
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    options = replace(OPTIONS, model_name="model")
    manifest = encode_corpus(open_corpus(str(corpus_folder)), pruning_model, killed, options)
    assert file_bytes(killed) == file_bytes(pruned)
    assert manifest.removed_expansions == verify(pruned).removed_expansions
    # The shards that a killed run has finished, and its removed terms, are kept.
    (killed / "docs0001.jsonl.gz").unlink()
    first = (killed / "docs0000.jsonl.gz").stat().st_mtime_ns
    begun = replace(manifest, complete=False, shards=manifest.shards[:2], removed_expansions=[])
    begun.save(killed)
    again = encode_corpus(open_corpus(str(corpus_folder)), pruning_model, killed, options)
    assert again == manifest
    assert (killed / "docs0000.jsonl.gz").stat().st_mtime_ns == first
    assert file_bytes(killed) == file_bytes(pruned)
    # A missing counts file is computed again, with the same removed terms.
    counts_path(killed).unlink()
    assert encode_corpus(open_corpus(str(corpus_folder)), pruning_model, killed, options) == again


def test_added_documents_are_pruned_equally(
    corpus_folder: Path, pruning_model: SpadeModel, pruned: Path, tmp_path: Path
) -> None:
    """The counts file has the removed terms, so that documents can be added later."""
    few = open_corpus("few", write_corpus(tmp_path / "few", 5))
    counts = counts_path(pruned)
    options = EncodeOptions(counts=counts)
    added = encode_corpus(few, pruning_model, tmp_path / "added", options)
    assert added.removed_expansions == verify(pruned).removed_expansions
    assert added.settings.counts_sha256 == verify(pruned).settings.counts_sha256
    by_id = dict(read_vectors(pruned))
    assert dict(read_vectors(tmp_path / "added")) == {
        docid: by_id[docid] for docid in ("d0", "d1", "d2", "d3", "d4")
    }
    # Without the counts file, so few documents are not pruned.
    alone = encode_corpus(few, pruning_model, tmp_path / "alone")
    assert alone.removed_expansions == []

    other = pruning_model.with_settings(alpha=0.2)  # does not affect the removed terms
    encode_corpus(few, other, tmp_path / "alpha", options)
    for change in ({"corpus_gamma": 0.4}, {"k": 2}, {"corpus_few": 0.1}):
        model = pruning_model.with_settings(**change)
        with pytest.raises(ArtifactError, match=r"corpus-level pruning was not computed .*gamma=0"):
            encode_corpus(few, model, tmp_path / "x", options)
    assert not (tmp_path / "x").exists()


def test_another_gamma_is_another_encoding(
    corpus_folder: Path, pruning_model: SpadeModel, pruned: Path
) -> None:
    other = pruning_model.with_settings(corpus_gamma=0.9)
    with pytest.raises(OutputExistsError, match=r"corpus_gamma 0\.3, now 0\.9"):
        encode_corpus(open_corpus(str(corpus_folder)), other, pruned, OPTIONS)


def test_pruning_with_idf_of_the_corpus(
    corpus_folder: Path, idf_model: SpadeModel, pruned: Path, tmp_path: Path
) -> None:
    model = idf_model.with_settings(corpus_gamma=GAMMA)
    corpus = open_corpus(str(corpus_folder))
    manifest = encode_corpus(corpus, model, tmp_path / "x", OPTIONS)
    assert manifest.removed_expansions == verify(pruned).removed_expansions
    encode_corpus(corpus, idf_model, tmp_path / "plain", OPTIONS)
    counts = [json.loads(counts_path(tmp_path / name).read_text()) for name in ("x", "plain")]
    assert counts[0]["terms"] == counts[1]["terms"] and "corpus_pruning" not in counts[1]
    # A model without pruning can use the counts of a pruned encoding, but not vice versa.
    options = replace(OPTIONS, counts=counts_path(tmp_path / "x"))
    again = encode_corpus(corpus, idf_model, tmp_path / "again", options)
    assert again.removed_expansions == []
    assert file_bytes(tmp_path / "again") == file_bytes(tmp_path / "plain")
    options = replace(OPTIONS, counts=counts_path(tmp_path / "plain"))
    with pytest.raises(ArtifactError, match="corpus-level pruning was not computed"):
        encode_corpus(corpus, model, tmp_path / "refused", options)


def test_components_are_pruned_like_the_vectors(
    corpus_folder: Path, pruning_model: SpadeModel, tmp_path: Path
) -> None:
    corpus = open_corpus(str(corpus_folder))
    model = pruning_model.with_settings(prune_ratio=0.5)
    options = replace(OPTIONS, components=True)
    manifest = encode_corpus(corpus, model, tmp_path / "x", options)
    removed = {term.term for term in manifest.removed_expansions}
    vectors = list(read_components(tmp_path / "x"))
    assert removed and not any(removed & set(vector.expansion) for vector in vectors)
    components = Components(tmp_path / "x", [0.5])
    mixed = components.write_vectors(tmp_path / "mixed", 0.5, set(), 40.0)
    assert mixed == manifest and file_bytes(tmp_path / "mixed") == file_bytes(tmp_path / "x")
    components.write_vectors(tmp_path / "full", 0.5, set(), 40.0, prune_ratio=0.0)
    encode_corpus(corpus, pruning_model, tmp_path / "direct", OPTIONS)
    assert file_bytes(tmp_path / "full") == file_bytes(tmp_path / "direct")


def test_the_options_of_the_command(
    corpus_folder: Path,
    pruning_model: SpadeModel,
    tiny_model_folder: Path,
    pruned: Path,
    tmp_path: Path,
    run: Commands,
) -> None:
    model = tmp_path / "model"
    pruning_model.save_pretrained(model)
    common = ("--corpus", corpus_folder, "--shard-size", 20)
    saved = run("encode", *common, "--model", model, "--output", tmp_path / "saved")
    assert saved.code == 0, saved.err
    assert "corpus-level pruning removed " in saved.err and "% of the documents)" in saved.err
    plain = ("--model", tiny_model_folder)
    flag = run("encode", *common, *plain, "--corpus-gamma", GAMMA, "--output", tmp_path / "flag")
    assert flag.code == 0, flag.err
    for folder in ("saved", "flag"):
        assert file_bytes(tmp_path / folder) == file_bytes(pruned)
    off = ("--model", model, "--no-corpus-pruning", "--output", tmp_path / "off")
    assert run("encode", *common, *off).code == 0
    assert run("encode", *common, *plain, "--output", tmp_path / "plain").code == 0
    assert file_bytes(tmp_path / "off") == file_bytes(tmp_path / "plain") != file_bytes(pruned)
    values = json.loads((tmp_path / "plain.manifest.json").read_text())
    # Without these settings, a manifest has the same fields as one of an older version.
    assert not {"prune_ratio", "corpus_gamma"} & values["settings"].keys()
    assert "removed_expansions" not in values and not counts_path(tmp_path / "plain").exists()

    ratio = ("--prune-ratio", 0.5, "--output", tmp_path / "ratio")
    assert run("encode", *common, *plain, *ratio).code == 0
    manifest = VectorManifest.load(tmp_path / "ratio")
    assert manifest.settings.prune_ratio == 0.5
    assert manifest.terms < VectorManifest.load(tmp_path / "plain").terms
    again = run("encode", *common, *plain, "--output", tmp_path / "ratio")
    assert again.code == 1 and "prune_ratio 0.5, now 0.0" in again.err
    both = run("encode", *common, *plain, "--corpus-gamma", 0.1, "--no-corpus-pruning")
    assert both.code == 2
    assert run("encode", *common, *plain, "--prune-ratio", 2).code == 2
    counts = ("--counts", counts_path(pruned), "--corpus-gamma", 0.1, "--output", tmp_path / "y")
    refused = run("encode", *common, *plain, *counts)
    assert refused.code == 1 and "--corpus-gamma 0" in refused.err


def test_an_explained_document_is_the_encoded_one(
    corpus_folder: Path, pruning_model: SpadeModel, pruned: Path, tmp_path: Path, run: Commands
) -> None:
    model = tmp_path / "model"
    pruning_model.save_pretrained(model)
    impacts = dict(read_vectors(pruned))["d7"]
    query = " ".join(sorted(term.term for term in verify(pruned).removed_expansions))
    expected = sum(impacts.get(x, 0) for x in pruning_model.wordpieces.query_terms(query))
    common = ("--model", model, "--corpus", corpus_folder, "--docid", "d7")
    for counts in ((), ("--counts", counts_path(pruned))):
        result = run("explain", *common, *counts, "--query", query)
        assert result.code == 0, result.err
        rows = [line.split() for line in result.out.splitlines()]
        score = next(row for row in rows if row[:1] == ["score"])
        assert int(score[-1]) == expected


def test_one_line_says_what_was_removed() -> None:
    polish = RemovedTerm("polish", 0.574, 0.003)
    assert describe_removed((polish, RemovedTerm("worms", 0.53, 0.0))) == (
        "corpus-level pruning removed 2 expansion terms, such as polish (57 % of the documents)"
    )
    assert "removed 1 expansion term, such as" in describe_removed((polish,))
    assert describe_removed(()) == "corpus-level pruning removed no expansion term"
