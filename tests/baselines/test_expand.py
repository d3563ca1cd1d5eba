from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tokenizers import processors
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, T5Config, T5ForConditionalGeneration

from spade_pyserini import open_corpus
from spade_pyserini.baselines.expand import expand_corpus
from spade_pyserini.baselines.query_generator import QueryGenerator, Sampling
from spade_pyserini.corpora import expanded
from spade_pyserini.errors import InputError, NotFoundError, OutputExistsError
from spade_pyserini.formats.files import read_sealed, sha256, sibling
from spade_pyserini.models.minilm import minilm_folder
from tests.commands import Commands
from tests.conftest import write_corpus

SAMPLING = Sampling(per_doc=3, max_length=32, max_new_tokens=6, batch_size=4, shard_size=8)


def save_t5(backbone: Path, folder: Path, seed: int = 1) -> Path:
    """A T5 of one layer with random weights; its tokenizer ends a text as T5's does."""
    tokenizer = AutoTokenizer.from_pretrained(backbone, eos_token="[SEP]")
    end = ("[SEP]", tokenizer.eos_token_id)
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        "$A [SEP]", special_tokens=[end]
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=1,
        num_heads=2,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    model = T5ForConditionalGeneration(config)
    model.generation_config.decoder_start_token_id = tokenizer.pad_token_id
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def t5(tiny_backbone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_t5(tiny_backbone, tmp_path_factory.mktemp("seq2seq") / "t5")


def flags(sampling: Sampling) -> list[object]:
    names = ("per_doc", "max_length", "max_new_tokens", "batch_size", "shard_size", "seed")
    return [
        part for name in names for part in (f"--{name.replace('_', '-')}", getattr(sampling, name))
    ]


def test_the_output_is_what_encode_reads(t5: Path, tiny_corpus: Path, tmp_path: Path) -> None:
    corpus, output = open_corpus(str(tiny_corpus)), tmp_path / "queries.jsonl"
    assert expand_corpus(corpus, str(t5), output, SAMPLING) == 30
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    assert [line["id"] for line in lines] == [document.docid for document in corpus]
    assert all(0 < len(line["predicted_queries"]) <= 3 for line in lines)
    assert len({query for line in lines for query in line["predicted_queries"]}) > 30
    longer = list(expanded(corpus, output))
    for document, more, line in zip(corpus, longer, lines, strict=True):
        assert more.text == f"{document.text} {' '.join(line['predicted_queries'])}"
    manifest = read_sealed(sibling(output, "manifest.json"), "spade_pyserini.expansions/1")
    assert (manifest["documents"], manifest["sha256"]) == (30, sha256(output))
    assert manifest["settings"]["per_doc"] == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        output.name,
        f"{output.name}.manifest.json",
    ]


def test_queries_are_the_models_own_samples(t5: Path) -> None:
    """One batch without padding is what transformers samples with the same seed."""
    text = "the old cat sleeps"
    found = QueryGenerator(str(t5), SAMPLING).generate([text], seed=7)
    tokenizer = AutoTokenizer.from_pretrained(t5)
    model = AutoModelForSeq2SeqLM.from_pretrained(t5)
    torch.manual_seed(7)
    output = model.generate(
        **tokenizer(text, return_tensors="pt", return_token_type_ids=False),
        do_sample=True,
        top_k=10,
        num_return_sequences=3,
        max_new_tokens=6,
    )
    expected = tokenizer.batch_decode(output, skip_special_tokens=True)
    assert found == [[query for query in expected if query]]


def test_seeds_and_the_callers_random_numbers(t5: Path) -> None:
    generator = QueryGenerator(str(t5), SAMPLING)
    texts = ["old cat", "", "the river runs and the bird sings in a tree", "dog"]
    torch.manual_seed(4)
    before = torch.random.get_rng_state()
    first = generator.generate(texts, seed=1)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert [len(queries) > 0 for queries in first] == [True, False, True, True]
    assert generator.generate(texts, seed=1) == first
    assert generator.generate(texts, seed=2) != first


def test_a_document_without_text_is_left_out(
    t5: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "c.tsv").write_text("a\told cat\nb\t\nc\tred dog\n")
    corpus, output = open_corpus(str(tmp_path / "c.tsv")), tmp_path / "q.jsonl"
    assert expand_corpus(corpus, str(t5), output, SAMPLING) == 2
    assert "1 documents got no query" in caplog.text
    texts = {document.docid: document.text for document in expanded(corpus, output)}
    assert texts["b"] == ""
    assert texts["a"].startswith("old cat ")


@pytest.mark.slow
def test_kill_9_then_the_same_command_completes(t5: Path, tmp_path: Path, run: Commands) -> None:
    corpus = write_corpus(tmp_path / "corpus", 50)
    sampling = replace(SAMPLING, shard_size=2)
    arguments = [str(one) for one in ("--corpus", corpus, "--model", t5, *flags(sampling))]
    killed, whole = tmp_path / "killed.jsonl", tmp_path / "whole.jsonl"
    command = [sys.executable, "-m", "spade_pyserini.expand", *arguments, "--output", str(killed)]
    process = subprocess.Popen(command)
    shards = sibling(killed, "shards")
    deadline = time.monotonic() + 120
    while len(list(shards.glob("docs*.jsonl"))) < 2:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = {path: path.stat().st_mtime_ns for path in shards.glob("docs*.jsonl")}
    assert 2 <= len(kept) < 25 and not killed.exists()
    first = min(kept)
    marked = first.read_bytes().replace(
        b'"predicted_queries": [', b'"predicted_queries": ["kept", '
    )
    first.write_bytes(marked)  # a shard that is there is not made again
    assert run("expand", *arguments, "--output", killed).code == 0
    assert run("expand", *arguments, "--output", whole).code == 0
    assert b'"kept"' in killed.read_bytes()
    assert killed.read_bytes().replace(b'"kept", ', b"") == whole.read_bytes()
    assert not shards.exists()


def test_other_settings_are_refused(
    t5: Path, tiny_backbone: Path, tiny_corpus: Path, tmp_path: Path, run: Commands
) -> None:
    """Shards as a killed run leaves them: the corpus breaks off after the second."""
    broken = tmp_path / "tiny.jsonl"
    lines = (tiny_corpus / "corpus.jsonl").read_text().splitlines(keepends=True)
    broken.write_text("".join(lines[:20]) + "broken\n")
    output = tmp_path / "q.jsonl"
    usual = ("--corpus", broken, "--output", output)
    result = run("expand", *usual, "--model", t5, *flags(SAMPLING))
    assert result.code == 1
    assert "tiny.jsonl:21: not valid JSON" in result.err
    shards = sibling(output, "shards")
    names = sorted(path.name for path in shards.glob("docs*"))
    assert [name[:8] for name in names] == ["docs0000", "docs0001"]
    result = run("expand", *usual, "--model", t5, *flags(replace(SAMPLING, per_doc=4)))
    assert result.code == 1
    assert "other settings (per_doc 3, now 4); choose another --output" in result.err
    other = save_t5(tiny_backbone, tmp_path / "other", seed=2)
    assert "; model_fingerprint " in run("expand", *usual, "--model", other, *flags(SAMPLING)).err
    assert sorted(path.name for path in shards.glob("docs*")) == names
    settings = sibling(shards, "json")
    whole = settings.read_bytes()
    settings.write_bytes(whole.replace(b'"per_doc": 3', b'"per_doc": 4'))
    assert "edited or damaged" in run("expand", *usual, "--model", t5, *flags(SAMPLING)).err
    settings.write_bytes(whole)
    # Documents that changed since get a shard of their own.
    mended = "".join(lines).replace('"_id": "d9"', '"_id": "d9-new"')
    broken.write_text(mended)
    assert run("expand", *usual, "--model", t5, *flags(SAMPLING)).code == 0
    assert [json.loads(line)["id"] for line in output.read_text().splitlines()][9] == "d9-new"
    before = output.read_bytes()
    assert "exists already" in run("expand", *usual, "--model", t5, *flags(SAMPLING)).err
    result = run("expand", *usual, "--model", other, *flags(SAMPLING), "--overwrite")
    assert result.code == 0
    assert output.read_bytes() != before


def test_what_cannot_be_expanded(
    t5: Path, tiny_corpus: Path, tmp_path: Path, run: Commands
) -> None:
    corpus = open_corpus(str(tiny_corpus))
    output = tmp_path / "q.jsonl"
    for model in ("no-such/model", str(minilm_folder()), str(tmp_path)):
        with pytest.raises(
            NotFoundError, match=r"the seq2seq model .* cannot be loaded: "
        ) as found:
            expand_corpus(corpus, model, output, SAMPLING)
        assert "\n" not in str(found.value)
    pickled = shutil.copytree(t5, tmp_path / "pickled")
    (pickled / "model.safetensors").unlink()
    torch.save({}, pickled / "pytorch_model.bin")  # a pickle, which may run anything
    with pytest.raises(NotFoundError, match="cannot be loaded"):
        expand_corpus(corpus, str(pickled), output, SAMPLING)
    nothing = replace(corpus, read=lambda _: iter(()))
    with pytest.raises(InputError, match="the corpus is empty"):
        expand_corpus(nothing, str(t5), output, SAMPLING)
    assert not output.exists()
    theirs = sibling(tmp_path / "x.jsonl", "shards")
    theirs.mkdir()
    with pytest.raises(OutputExistsError, match="not of our making"):
        expand_corpus(corpus, str(t5), tmp_path / "x.jsonl", SAMPLING, overwrite=True)
    assert theirs.is_dir()
    output.write_text("mine\n")
    with pytest.raises(OutputExistsError, match="exists already"):
        expand_corpus(corpus, str(t5), output, SAMPLING)
    assert output.read_text() == "mine\n"
    arguments = ("--corpus", tiny_corpus, "--model", t5, "--output", tmp_path / "q.txt")
    assert run("expand", *arguments).code == 2
