"""A model that asks how rare a corpus's terms are: counted once, kept beside the vectors."""

from __future__ import annotations

import copy
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
from spade_pyserini.formats.vectors import VectorManifest, verify
from spade_pyserini.models.term_counts import TermCounts, corpus_weights, count_terms
from tests.conftest import write_corpus


def that_asks(model: SpadeModel) -> SpadeModel:
    """A copy with `corpus_idf`; in training, every second document had each term."""
    model = copy.deepcopy(model)
    size = len(model.kept)
    model.use_corpus_idf(0.5, TermCounts(torch.full((size,), 50), 100, 600))
    return model


@pytest.fixture(scope="module")
def asking(tiny_model: SpadeModel) -> SpadeModel:
    return that_asks(tiny_model)


def test_what_a_term_is_worth() -> None:
    usual = torch.tensor([0.5, 0.5, 0.5, 0.001])
    counts = TermCounts(torch.tensor([100_000, 1000, 0]), 100_000, 0)  # one row less: padded
    found = corpus_weights(counts, usual, 0.5)
    idf = torch.log(torch.tensor([100_501 / 100_250.5, 100_501 / 1250.5, 100_501 / 250.5]))
    assert torch.allclose(found[:3] ** 2 * 5, idf.clamp(min=0.05), atol=1e-4)
    assert found[3] > found[2] > found[1] > found[0] > 0
    assert torch.equal(corpus_weights(counts, usual, 0.0), torch.ones(4))


def test_the_corpus_is_counted_and_weighs(
    asking: SpadeModel, tiny_corpus: Path, tmp_path: Path
) -> None:
    corpus, words = open_corpus(str(tiny_corpus)), asking.wordpieces
    manifest = encode_corpus(corpus, asking, tmp_path / "x", EncodeOptions(shard_size=10))
    counts = load_counts(counts_path(tmp_path / "x"), words)
    texts = [document.contents for document in corpus]
    wanted = count_terms(words, texts, len(asking.kept), asking.config.max_length)
    assert (counts.documents, counts.length) == (30, wanted.length)
    assert torch.equal(counts.df, wanted.df)

    plain = copy.deepcopy(asking)
    plain.read_corpus(wanted)
    vectors = list(read_vectors(tmp_path / "x"))
    assert [vector.impacts for vector in vectors] == plain.encode(texts)
    plain.read_corpus(None)
    assert [vector.impacts for vector in vectors] != plain.encode(texts)
    assert manifest == verify(tmp_path / "x")


def test_what_was_counted_is_gone_on_with(asking: SpadeModel, tmp_path: Path) -> None:
    """A corpus that grows keeps its first counts, or its shards would not fit together."""
    source = write_corpus(tmp_path / "corpus", 20)
    first = encode_corpus(
        open_corpus(str(source)), asking, tmp_path / "x", EncodeOptions(shard_size=10)
    )
    write_corpus(tmp_path / "corpus", 30)
    second = encode_corpus(
        open_corpus(str(source)), asking, tmp_path / "x", EncodeOptions(shard_size=10)
    )
    assert second.shards[:2] == first.shards and second.documents == 30
    again = encode_corpus(
        open_corpus(str(source)),
        asking,
        tmp_path / "x",
        EncodeOptions(shard_size=10, overwrite=True),
    )
    assert again.settings.counts_sha256 != second.settings.counts_sha256
    assert json.loads(counts_path(tmp_path / "x").read_text())["documents"] == 30


def test_counts_that_are_gone_or_changed(
    asking: SpadeModel, tiny_corpus: Path, tmp_path: Path
) -> None:
    corpus, path = open_corpus(str(tiny_corpus)), counts_path(tmp_path / "x")
    whole = encode_corpus(corpus, asking, tmp_path / "x", EncodeOptions(shard_size=10))
    path.unlink()
    assert encode_corpus(corpus, asking, tmp_path / "x", EncodeOptions(shard_size=10)) == whole
    path.write_text(path.read_text().replace('"documents": 30', '"documents": 31'))
    assert encode_corpus(corpus, asking, tmp_path / "x", EncodeOptions(shard_size=10)) == whole
    with pytest.raises(ArtifactError, match="edited or damaged"):
        path.write_text(path.read_text().replace('"documents": 30', '"documents": 31'))
        load_counts(path, asking.wordpieces)


def test_a_refused_run_leaves_the_counts_alone(
    asking: SpadeModel, tiny_model: SpadeModel, tiny_corpus: Path, tmp_path: Path
) -> None:
    corpus, other = open_corpus(str(tiny_corpus)), open_corpus("o", write_corpus(tmp_path / "o", 9))
    encode_corpus(corpus, asking, tmp_path / "x", EncodeOptions(shard_size=10))
    encode_corpus(other, asking, tmp_path / "o.spade", EncodeOptions(shard_size=10))
    before = counts_path(tmp_path / "x").read_bytes()
    with pytest.raises(OutputExistsError, match="other settings"):
        encode_corpus(other, asking, tmp_path / "x", EncodeOptions(shard_size=10))
    counts = counts_path(tmp_path / "o.spade")
    with pytest.raises(OutputExistsError, match=r"other settings \(counts_sha256"):
        encode_corpus(corpus, asking, tmp_path / "x", EncodeOptions(shard_size=10, counts=counts))
    (tmp_path / "damaged.json").write_text("{}")
    with pytest.raises(InputError, match="of another version"):
        encode_corpus(
            corpus, asking, tmp_path / "x", EncodeOptions(counts=tmp_path / "damaged.json")
        )
    with pytest.raises(UsageError, match="leave --counts out"):
        encode_corpus(corpus, tiny_model, tmp_path / "y", EncodeOptions(counts=counts))
    assert counts_path(tmp_path / "x").read_bytes() == before
    added = encode_corpus(
        corpus, asking, tmp_path / "added", EncodeOptions(shard_size=10, counts=counts)
    )
    assert counts_path(tmp_path / "added").read_bytes() == counts.read_bytes()
    assert added.settings.counts_sha256 is not None


def test_unfinished_counts_of_another_length_are_counted_again(
    asking: SpadeModel, tiny_corpus: Path, tmp_path: Path
) -> None:
    corpus, path = open_corpus(str(tiny_corpus)), counts_path(tmp_path / "x")
    whole = encode_corpus(corpus, asking, tmp_path / "x", EncodeOptions(shard_size=10))
    replace(whole, complete=False).save(tmp_path / "x")
    shorter = copy.deepcopy(asking)
    shorter.reconfigure(max_length=4)
    length = json.loads(path.read_text())["length"]
    encode_corpus(corpus, shorter, tmp_path / "x", EncodeOptions(shard_size=10, overwrite=True))
    assert json.loads(path.read_text())["length"] < length


def test_machines_share_what_was_counted(
    asking: SpadeModel, tiny_corpus: Path, tmp_path: Path
) -> None:
    corpus = open_corpus(str(tiny_corpus))
    encode_corpus(corpus, asking, tmp_path / "x", EncodeOptions(shard_size=10, part=Part(0, 2)))
    path = counts_path(tmp_path / "x")
    before = path.stat().st_mtime_ns
    encode_corpus(corpus, asking, tmp_path / "x", EncodeOptions(shard_size=10, part=Part(1, 2)))
    assert path.stat().st_mtime_ns == before
    merge_parts(tmp_path / "x")
    whole = encode_corpus(corpus, asking, tmp_path / "whole", EncodeOptions(shard_size=10))
    assert verify(tmp_path / "x").shards == whole.shards


def test_parts_that_are_replaced_count_once_more(asking: SpadeModel, tmp_path: Path) -> None:
    source, path = write_corpus(tmp_path / "c", 30), counts_path(tmp_path / "x")

    def encode(number: int, **changes: object) -> VectorManifest:
        part, corpus = Part(number, 2), open_corpus("c", source)
        return encode_corpus(
            corpus, asking, tmp_path / "x", EncodeOptions(part=part, shard_size=10, **changes)
        )  # type: ignore[arg-type]

    for number in (0, 1):
        encode(number)
    write_corpus(source, 40)
    first = encode(0, overwrite=True)
    assert json.loads(path.read_text())["documents"] == 40
    replace(first, complete=False).save(tmp_path / "x", Part(0, 2).manifest)  # still at work
    before = path.stat().st_mtime_ns
    encode(1, overwrite=True)
    assert path.stat().st_mtime_ns == before
    encode(0)
    assert merge_parts(tmp_path / "x").documents == 40


def test_too_many_bad_documents_are_listed_when_they_are_counted(
    asking: SpadeModel, tmp_path: Path
) -> None:
    path = write_corpus(tmp_path / "c", 30) / "corpus.jsonl"
    path.write_text("not JSON\nnor this\n" + path.read_text())
    with pytest.raises(SpadeError, match="more than --max-errors 1"):
        encode_corpus(open_corpus("c", path), asking, tmp_path / "x", EncodeOptions(max_errors=1))
    assert len((tmp_path / "x.errors.txt").read_text().splitlines()) == 2


def test_counting_tells_json_lines(
    asking: SpadeModel, tiny_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    encode_corpus(
        open_corpus(str(tiny_corpus)), asking, tmp_path / "x", EncodeOptions(progress="json")
    )
    told = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["task"], line["documents"]) for line in told] == [
        ("counting terms", 30),
        ("encoding", 30),
    ]
