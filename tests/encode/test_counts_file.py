"""Term counts of a corpus, for models that weight terms by their document frequency."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from spade_pyserini import SpadeModel, encode_corpus, open_corpus, read_vectors
from spade_pyserini.encode import EncodeOptions, Part, merge_parts
from spade_pyserini.encode.counts_file import counts_path, load_counts
from spade_pyserini.errors import (
    ArtifactError,
    InputError,
    OutputExistsError,
    SpadeError,
    UsageError,
)
from spade_pyserini.formats.vector_manifest import VectorManifest
from spade_pyserini.formats.vectors import verify
from spade_pyserini.models import SpadeEncoder
from spade_pyserini.models.term_counts import count_terms
from tests.conftest import write_corpus


def test_the_counts_of_the_corpus_change_its_vectors(
    idf_model: SpadeModel, tiny_corpus: Path, tmp_path: Path
) -> None:
    corpus, words = open_corpus(str(tiny_corpus)), idf_model.wordpieces
    manifest = encode_corpus(corpus, idf_model, tmp_path / "x", EncodeOptions(shard_size=10))
    counts = load_counts(counts_path(tmp_path / "x"), words)
    texts = [document.contents for document in corpus]
    expected = count_terms(words, texts, len(idf_model.kept), idf_model.config.max_length)
    assert (counts.documents, counts.length) == (30, expected.length)
    assert torch.equal(counts.df, expected.df)

    encoder = SpadeEncoder(idf_model)
    vectors = [vector.impacts for vector in read_vectors(tmp_path / "x")]
    assert vectors == encoder.for_corpus(expected).encode(texts)
    assert vectors != encoder.encode(texts)
    assert manifest == verify(tmp_path / "x")


def test_counts_are_kept_when_an_encoding_is_continued(
    idf_model: SpadeModel, tmp_path: Path
) -> None:
    """If a corpus grows, its first counts are kept, so that all shards use the same counts."""
    source = write_corpus(tmp_path / "corpus", 20)
    first = encode_corpus(
        open_corpus(str(source)), idf_model, tmp_path / "x", EncodeOptions(shard_size=10)
    )
    write_corpus(tmp_path / "corpus", 30)
    second = encode_corpus(
        open_corpus(str(source)), idf_model, tmp_path / "x", EncodeOptions(shard_size=10)
    )
    assert second.shards[:2] == first.shards and second.documents == 30
    again = encode_corpus(
        open_corpus(str(source)),
        idf_model,
        tmp_path / "x",
        EncodeOptions(shard_size=10, overwrite=True),
    )
    assert again.settings.counts_sha256 != second.settings.counts_sha256
    assert json.loads(counts_path(tmp_path / "x").read_text())["documents"] == 30


def test_missing_or_damaged_counts_are_counted_again(
    idf_model: SpadeModel, tiny_corpus: Path, tmp_path: Path
) -> None:
    corpus, path = open_corpus(str(tiny_corpus)), counts_path(tmp_path / "x")
    manifest = encode_corpus(corpus, idf_model, tmp_path / "x", EncodeOptions(shard_size=10))
    path.unlink()
    assert (
        encode_corpus(corpus, idf_model, tmp_path / "x", EncodeOptions(shard_size=10)) == manifest
    )
    path.write_text(path.read_text().replace('"documents": 30', '"documents": 31'))
    assert (
        encode_corpus(corpus, idf_model, tmp_path / "x", EncodeOptions(shard_size=10)) == manifest
    )
    with pytest.raises(ArtifactError, match="edited or damaged"):
        path.write_text(path.read_text().replace('"documents": 30', '"documents": 31'))
        load_counts(path, idf_model.wordpieces)


def test_a_refused_run_leaves_the_counts_alone(
    idf_model: SpadeModel, tiny_model: SpadeModel, tiny_corpus: Path, tmp_path: Path
) -> None:
    corpus, other = open_corpus(str(tiny_corpus)), open_corpus("o", write_corpus(tmp_path / "o", 9))
    encode_corpus(corpus, idf_model, tmp_path / "x", EncodeOptions(shard_size=10))
    encode_corpus(other, idf_model, tmp_path / "o.spade", EncodeOptions(shard_size=10))
    before = counts_path(tmp_path / "x").read_bytes()
    with pytest.raises(OutputExistsError, match="other settings"):
        encode_corpus(other, idf_model, tmp_path / "x", EncodeOptions(shard_size=10))
    counts = counts_path(tmp_path / "o.spade")
    with pytest.raises(OutputExistsError, match=r"other settings \(counts_sha256"):
        encode_corpus(
            corpus, idf_model, tmp_path / "x", EncodeOptions(shard_size=10, counts=counts)
        )
    (tmp_path / "damaged.json").write_text("{}")
    with pytest.raises(InputError, match="another version wrote it"):
        encode_corpus(
            corpus, idf_model, tmp_path / "x", EncodeOptions(counts=tmp_path / "damaged.json")
        )
    with pytest.raises(UsageError, match="leave out counts=FILE"):
        encode_corpus(corpus, tiny_model, tmp_path / "y", EncodeOptions(counts=counts))
    assert counts_path(tmp_path / "x").read_bytes() == before
    added = encode_corpus(
        corpus, idf_model, tmp_path / "added", EncodeOptions(shard_size=10, counts=counts)
    )
    assert counts_path(tmp_path / "added").read_bytes() == counts.read_bytes()
    assert added.settings.counts_sha256 is not None


def test_unfinished_counts_of_another_length_are_counted_again(
    idf_model: SpadeModel, tiny_corpus: Path, tmp_path: Path
) -> None:
    corpus, path = open_corpus(str(tiny_corpus)), counts_path(tmp_path / "x")
    manifest = encode_corpus(corpus, idf_model, tmp_path / "x", EncodeOptions(shard_size=10))
    replace(manifest, complete=False).save(tmp_path / "x")
    shorter = idf_model.with_settings(max_length=4)
    length = json.loads(path.read_text())["length"]
    encode_corpus(corpus, shorter, tmp_path / "x", EncodeOptions(shard_size=10, overwrite=True))
    assert json.loads(path.read_text())["length"] < length


def test_parts_share_their_counts(idf_model: SpadeModel, tiny_corpus: Path, tmp_path: Path) -> None:
    corpus = open_corpus(str(tiny_corpus))
    encode_corpus(corpus, idf_model, tmp_path / "x", EncodeOptions(shard_size=10, part=Part(0, 2)))
    path = counts_path(tmp_path / "x")
    before = path.stat().st_mtime_ns
    encode_corpus(corpus, idf_model, tmp_path / "x", EncodeOptions(shard_size=10, part=Part(1, 2)))
    assert path.stat().st_mtime_ns == before
    merge_parts(tmp_path / "x")
    manifest = encode_corpus(
        corpus, idf_model, tmp_path / "reference", EncodeOptions(shard_size=10)
    )
    assert verify(tmp_path / "x").shards == manifest.shards


def test_parts_that_are_replaced_are_counted_once(idf_model: SpadeModel, tmp_path: Path) -> None:
    source, path = write_corpus(tmp_path / "c", 30), counts_path(tmp_path / "x")

    def encode(number: int, overwrite: bool = False) -> VectorManifest:
        options = EncodeOptions(part=Part(number, 2), shard_size=10, overwrite=overwrite)
        return encode_corpus(open_corpus("c", source), idf_model, tmp_path / "x", options)

    for number in (0, 1):
        encode(number)
    write_corpus(source, 40)
    first = encode(0, overwrite=True)
    assert json.loads(path.read_text())["documents"] == 40
    replace(first, complete=False).save(
        tmp_path / "x", Part(0, 2).manifest
    )  # as if part 0 were still being encoded
    before = path.stat().st_mtime_ns
    encode(1, overwrite=True)
    assert path.stat().st_mtime_ns == before
    encode(0)
    assert merge_parts(tmp_path / "x").documents == 40


def test_too_many_bad_documents_are_listed_when_they_are_counted(
    idf_model: SpadeModel, tmp_path: Path
) -> None:
    path = write_corpus(tmp_path / "c", 30) / "corpus.jsonl"
    path.write_text("not JSON\nnor this\n" + path.read_text())
    with pytest.raises(SpadeError, match="more bad documents than max_errors=1"):
        encode_corpus(
            open_corpus("c", path), idf_model, tmp_path / "x", EncodeOptions(max_errors=1)
        )
    assert len((tmp_path / "x.errors.txt").read_text().splitlines()) == 2


def test_counting_reports_json_lines(
    idf_model: SpadeModel, tiny_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    encode_corpus(
        open_corpus(str(tiny_corpus)), idf_model, tmp_path / "x", EncodeOptions(progress="json")
    )
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["task"], line["documents"]) for line in lines] == [
        ("counting terms", 30),
        ("encoding", 30),
    ]
