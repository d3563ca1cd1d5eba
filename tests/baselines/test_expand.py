"""Predicted queries for documents."""

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
from typing import Any

import pytest
import torch
from tokenizers import processors
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, T5Config, T5ForConditionalGeneration

from spade_pyserini import open_corpus
from spade_pyserini.baselines.expand import QueryFiles, QueryTask, expand_corpus
from spade_pyserini.baselines.query_generator import QueryGenerator, Sampling
from spade_pyserini.corpora import expanded
from spade_pyserini.errors import ArtifactError, InputError, NotFoundError, OutputExistsError
from spade_pyserini.formats.digests import sha256
from spade_pyserini.formats.paths import sibling
from spade_pyserini.formats.sealed_json import read_sealed
from spade_pyserini.models.minilm import minilm_folder
from tests.commands import Commands
from tests.conftest import write_corpus

SAMPLING = Sampling(per_doc=3, max_length=32, max_new_tokens=6, batch_size=4, shard_size=8)


def save_t5(backbone: Path, folder: Path, seed: int = 1) -> Path:
    """Save a T5 of one layer with random weights, and a tokenizer that adds an end token."""
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
    """Without padding, the queries are those that transformers samples with the same seed."""
    text = "the old cat sleeps"
    actual = QueryGenerator(str(t5), SAMPLING).generate([text], seed=7)
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
    assert actual == [[query for query in expected if query]]


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
def test_kill_9_then_the_same_command_completes(
    t5: Path, tmp_path: Path, run: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = write_corpus(tmp_path / "corpus", 50)
    sampling = replace(SAMPLING, shard_size=2)
    arguments = [str(word) for word in ("--corpus", corpus, "--model", t5, *flags(sampling))]
    killed, reference = tmp_path / "killed.jsonl", tmp_path / "reference.jsonl"
    command = [sys.executable, "-m", "spade_pyserini.expand", *arguments, "--output", str(killed)]
    process = subprocess.Popen(command)
    shards = sibling(killed, "shards")
    deadline = time.monotonic() + 120
    manifest = sibling(shards, "manifest.json")
    while not (manifest.exists() and json.loads(manifest.read_text())["shards"]):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    recorded = QueryFiles().load(shards, "manifest.json").shards
    assert recorded and len(list(shards.iterdir())) < 25 and not killed.exists()
    computed: list[int] = []
    real = QueryTask.compute

    def compute(task: QueryTask, prepared: Any, advance: Any) -> Any:
        computed.append(prepared.number)
        return real(task, prepared, advance)

    monkeypatch.setattr(QueryTask, "compute", compute)
    assert run("expand", *arguments, "--output", killed).code == 0
    assert set(computed) == set(range(25)) - {shard.number for shard in recorded}
    assert run("expand", *arguments, "--output", reference).code == 0
    assert killed.read_bytes() == reference.read_bytes()
    assert not shards.exists() and not sibling(shards, "manifest.json").exists()


def test_other_settings_are_refused(
    t5: Path, tiny_backbone: Path, tiny_corpus: Path, tmp_path: Path, run: Commands
) -> None:
    """The corpus has a bad line after the second shard, so the run stays unfinished."""
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
    assert "other settings (per_doc 3, now 4); choose another output" in result.err
    other = save_t5(tiny_backbone, tmp_path / "other", seed=2)
    assert "; model_fingerprint " in run("expand", *usual, "--model", other, *flags(SAMPLING)).err
    assert sorted(path.name for path in shards.glob("docs*")) == names
    manifest = sibling(shards, "manifest.json")
    original = manifest.read_bytes()
    manifest.write_bytes(original.replace(b'"per_doc": 3', b'"per_doc": 4'))
    assert "edited or damaged" in run("expand", *usual, "--model", t5, *flags(SAMPLING)).err
    manifest.write_bytes(original)
    broken.write_text("".join(lines).replace('"_id": "d9"', '"_id": "d9-new"'))
    result = run("expand", *usual, "--model", t5, *flags(SAMPLING))
    assert "docs0001.jsonl was made from other documents" in result.err
    assert run("expand", *usual, "--model", t5, *flags(SAMPLING), "--overwrite").code == 0
    assert [json.loads(line)["id"] for line in output.read_text().splitlines()][9] == "d9-new"
    before = output.read_bytes()
    assert "exists already" in run("expand", *usual, "--model", t5, *flags(SAMPLING)).err
    result = run("expand", *usual, "--model", other, *flags(SAMPLING), "--overwrite")
    assert result.code == 0
    assert output.read_bytes() != before


def test_an_unfinished_run_of_an_older_version_needs_overwrite(
    t5: Path, tiny_corpus: Path, tmp_path: Path
) -> None:
    corpus, output = open_corpus(str(tiny_corpus)), tmp_path / "q.jsonl"
    shards = sibling(output, "shards")
    shards.mkdir()
    (shards / "docs0000.0123456789abcdef.jsonl").write_text("{}")
    sibling(shards, "json").write_text("{}")
    with pytest.raises(OutputExistsError, match=r"has no manifest; .* pass overwrite=True"):
        expand_corpus(corpus, str(t5), output, SAMPLING)
    assert expand_corpus(corpus, str(t5), output, SAMPLING, overwrite=True) == 30
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["q.jsonl", "q.jsonl.manifest.json"]


def test_bad_models_corpora_and_outputs(
    t5: Path, tiny_corpus: Path, tmp_path: Path, run: Commands
) -> None:
    corpus = open_corpus(str(tiny_corpus))
    output = tmp_path / "q.jsonl"
    for model in ("no-such/model", str(minilm_folder()), str(tmp_path)):
        with pytest.raises(
            NotFoundError, match=r"the seq2seq model .* cannot be loaded: "
        ) as error:
            expand_corpus(corpus, model, output, SAMPLING)
        assert "\n" not in str(error.value)
    pickled = shutil.copytree(t5, tmp_path / "pickled")
    (pickled / "model.safetensors").unlink()
    torch.save({}, pickled / "pytorch_model.bin")  # a pickle, which could run any code
    with pytest.raises(NotFoundError, match="cannot be loaded"):
        expand_corpus(corpus, str(pickled), output, SAMPLING)
    nothing = replace(corpus, read=lambda _: iter(()))
    with pytest.raises(InputError, match="the corpus is empty"):
        expand_corpus(nothing, str(t5), output, SAMPLING)
    assert not output.exists()
    theirs = sibling(tmp_path / "x.jsonl", "shards")
    theirs.mkdir()
    (theirs / "precious.txt").write_text("keep")
    with pytest.raises(OutputExistsError, match=r"precious\.txt, which this command did not write"):
        expand_corpus(corpus, str(t5), tmp_path / "x.jsonl", SAMPLING, overwrite=True)
    assert (theirs / "precious.txt").exists()
    output.write_text("mine\n")
    with pytest.raises(OutputExistsError, match="exists already"):
        expand_corpus(corpus, str(t5), output, SAMPLING)
    assert output.read_text() == "mine\n"
    arguments = ("--corpus", tiny_corpus, "--model", t5, "--output", tmp_path / "q.txt")
    assert run("expand", *arguments).code == 2


@pytest.mark.parametrize("step", ["write_sealed", "_remove_shards", "remove"])
def test_a_kill_after_the_shards_were_joined(
    t5: Path, tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The output file is complete, so a second call only does the remaining steps.

    The second call then raises an error, which says that the output exists.
    """
    corpus, output = open_corpus(str(tiny_corpus)), tmp_path / "queries.jsonl"

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(f"spade_pyserini.baselines.expand.{step}", killed)
        expand_corpus(corpus, str(t5), output, SAMPLING)
    assert sibling(output, "shards.manifest.json").exists()
    with pytest.raises(OutputExistsError, match="exists already"):
        expand_corpus(corpus, str(t5), output, SAMPLING)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [output.name, f"{output.name}.manifest.json"]
    assert len(list(expanded(corpus, output))) == 30
    output.write_text(output.read_text() + "\n")
    with pytest.raises(ArtifactError, match=r"edited or damaged.*; run spade expand again"):
        expanded(corpus, output)


def test_terms_of_tilde(
    tiny_backbone: Path, tiny_corpus: Path, tmp_path: Path, run: Commands
) -> None:
    """TILDE adds words that a document does not have; `encode --expansions` reads them."""
    from spade_pyserini.models.backbone import load_backbone
    from spade_pyserini.models.systems.saving import save_system
    from spade_pyserini.models.systems.tilde import Tilde

    model, output = tmp_path / "tilde", tmp_path / "terms.jsonl"
    save_system(Tilde.from_backbone(load_backbone(tiny_backbone)), model, 32)
    call = ("expand", "--corpus", tiny_corpus, "--model", model, "--output", output)
    done = run(*call, "--per-doc", 7, "--shard-size", 8)
    assert done.code == 0, done.err
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    texts = {document.docid: document.contents for document in open_corpus(str(tiny_corpus))}
    assert len(lines) == len(texts)
    for line in lines:
        terms = line["predicted_queries"]
        assert 0 < len(terms) <= 7 and not set(terms) & set(texts[line["id"]].lower().split())
    settings = read_sealed(sibling(output, "manifest.json"), "spade_pyserini.expansions/1")
    assert settings["settings"]["model"] == str(model)
    done = run(
        *("encode", "--corpus", tiny_corpus, "--expansions", output, "--max-length", 32),
        *("--model", model, "--output", tmp_path / "v"),
    )
    assert done.code == 0, done.err
