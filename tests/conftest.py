"""Shared fixtures: a small tokenizer, model, corpus, vectors, index and recipe."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

# No test may contact the Hugging Face hub: a machine without network would wait for time-outs.
os.environ["HF_HUB_OFFLINE"] = "1"
# Most models of the tests are tiny, and ten times slower with several threads.
os.environ["OMP_NUM_THREADS"] = "1"
# No test may read or change the user's cache.
os.environ["SPADE_CACHE_DIR"] = tempfile.mkdtemp(prefix="spade-tests-")

import pytest
import torch
from hypothesis import settings
from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordPiece
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from spade_pyserini import SpadeModel, build_impact_index, encode_corpus, open_corpus
from spade_pyserini.encode import EncodeOptions
from spade_pyserini.models import SpadeConfig
from spade_pyserini.models.extensions import with_corpus_idf
from spade_pyserini.models.term_counts import TermCounts
from spade_pyserini.train import Recipe, make_recipe
from tests.commands import Commands, shell
from tests.models.systems import checkpoints

# No time limit for examples of Hypothesis: their time depends on the load of the machine.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

ROOT = Path(__file__).resolve().parent.parent
# Only the helper `shared_data` may read the user's local collections; tests may not.
# SPADE_DATA_DIR is therefore renamed; the worker processes of pytest-xdist inherit the new name.
if "SPADE_DATA_DIR" in os.environ:
    os.environ["SPADE_TEST_DATA_DIR"] = os.environ.pop("SPADE_DATA_DIR")
DATA_DIR = Path(os.environ.get("SPADE_TEST_DATA_DIR", ROOT.parent / "shared" / "data"))
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = (
    "the a of in and to is cat dog bird fish house tree river red blue green old new big small "
    "runs sleeps eats sings del ##ete folder file copy move open close read write ##s ##ing"
).split()


def shared_data(name: str) -> Path:
    """Return the path of a local collection; skip the test if it is missing.

    Collections are in $SPADE_DATA_DIR, or in the folder shared/data next to the checkout.
    """
    if not (DATA_DIR / name).exists():
        pytest.skip(f"needs the collection {name} in $SPADE_DATA_DIR or {DATA_DIR}")
    return (DATA_DIR / name).resolve()


@pytest.fixture(scope="session")
def tiny_backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two layers with random weights, and a tokenizer of about a hundred WordPieces."""
    folder = tmp_path_factory.mktemp("backbone")
    letters = [*"abcdefghijklmnopqrstuvwxyz.,#"]
    vocabulary = SPECIAL + letters + [f"##{letter}" for letter in letters] + WORDS
    numbered = {token: number for number, token in enumerate(dict.fromkeys(vocabulary))}
    tokenizer = Tokenizer(WordPiece(numbered, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [("[CLS]", numbered["[CLS]"]), ("[SEP]", numbered["[SEP]"])]
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=ends)
    names = dict(zip(("pad", "unk", "cls", "sep", "mask"), SPECIAL, strict=True))
    PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, **{f"{name}_token": token for name, token in names.items()}
    ).save_pretrained(folder)
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(numbered),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(folder)  # type: ignore[no-untyped-call]
    return folder


@pytest.fixture(scope="session")
def tiny_model(tiny_backbone: Path) -> SpadeModel:
    """A calibrated SpaDE model with two tiny transformers."""
    config = SpadeConfig(k=3, max_length=32, scale=40.0)
    return with_positive_weights(SpadeModel.from_backbone(tiny_backbone, config))


def with_positive_weights(model: SpadeModel) -> SpadeModel:
    """Raise the bias of the random weighting head, so that its ReLU does not return only 0."""
    with torch.no_grad():
        model.weighting.head.get_parameter("3.bias").add_(1)
    return model


def with_random_adapters(model: SpadeModel) -> SpadeModel:
    """Give the adapters random weights, different in each encoder."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return with_positive_weights(model)


@pytest.fixture(scope="session")
def idf_model(tiny_model: SpadeModel) -> SpadeModel:
    """A model with `corpus_idf`; each term occurred in half of the training documents."""
    seen = TermCounts(torch.full((len(tiny_model.kept),), 50), 100, 600)
    return with_corpus_idf(tiny_model, 0.5, seen)


@pytest.fixture(scope="session")
def tiny_model_folder(tiny_model: SpadeModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    tiny_model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def systems(tiny_backbone: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of small checkpoints of other systems (SPLADE, uniCOIL, ...), by name."""
    root = tmp_path_factory.mktemp("systems")
    transformer = checkpoints.masked_lm(tiny_backbone, root / "splade")
    size = checkpoints.config_of(tiny_backbone).vocab_size
    idf = torch.linspace(0.2, 3.0, size)
    return {
        "splade": transformer,
        "splade-max": checkpoints.sparse_encoder(root / "splade-max", transformer),
        "splade-sum": checkpoints.sparse_encoder(
            root / "splade-sum", transformer, pooling_strategy="sum"
        ),
        "splade-doc": checkpoints.routed_encoder(root / "doc", transformer, torch.ones(size)),
        "opensearch": checkpoints.routed_encoder(root / "opensearch", transformer, idf),
        "unicoil": checkpoints.token_weights(
            tiny_backbone, root / "unicoil", name="UniCoilEncoder"
        ),
        "tildev2": checkpoints.token_weights(tiny_backbone, root / "tildev2"),
        "deepimpact": checkpoints.deep_impact(tiny_backbone, root / "deepimpact"),
        "deepct": checkpoints.deepct(tiny_backbone, root / "deepct"),
    }


def write_corpus(path: Path, count: int = 30) -> Path:
    """Write a BEIR corpus of short sentences, all different."""
    path.mkdir(parents=True, exist_ok=True)
    words = [word for word in WORDS if not word.startswith("##")]
    with (path / "corpus.jsonl").open("w") as stream:
        for number in range(count):
            text = " ".join(words[(number * step) % len(words)] for step in range(1, 7))
            document = {"_id": f"d{number}", "title": words[number % len(words)], "text": text}
            stream.write(json.dumps(document) + "\n")
    return path


def file_bytes(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files of a folder, by file name."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="session")
def tiny_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpora") / "tiny")


@pytest.fixture
def corpus_of_95(tmp_path: Path) -> Path:
    """A corpus of 95 documents, which makes ten shards with a shard size of 10."""
    return write_corpus(tmp_path / "many", 95)


@pytest.fixture(scope="session")
def tiny_vectors(
    tiny_corpus: Path, tiny_model: SpadeModel, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The tiny corpus, encoded in three shards. All tests share it: copy it before changing it."""
    folder = tmp_path_factory.mktemp("encode") / "tiny"
    encode_corpus(open_corpus(str(tiny_corpus)), tiny_model, folder, EncodeOptions(shard_size=12))
    return folder


@pytest.fixture(scope="session")
def tiny_index(tiny_vectors: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of `tiny_vectors`. All tests share it: copy it before changing it."""
    folder = tmp_path_factory.mktemp("index") / "tiny"
    build_impact_index(tiny_vectors, folder)
    return folder


@pytest.fixture(scope="session")
def recipe(
    tiny_backbone: Path, tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> Recipe:
    """A recipe with six queries, two relevant documents for each, and hard negatives from a run."""
    folder = tmp_path_factory.mktemp("training")
    texts = ["old cat", "big dog", "red river", "open file", "a small bird", "the tree sings"]
    with (
        (folder / "queries.tsv").open("w") as queries,
        (folder / "qrels.txt").open("w") as qrels,
        (folder / "run.txt").open("w") as run,
    ):
        for qid, text in enumerate(texts):
            queries.write(f"q{qid}\t{text}\n")
            for rank in range(6):
                docid = f"d{(qid * 4 + rank) % 30}"
                run.write(f"q{qid} Q0 {docid} {rank + 1} {9 - rank} x\n")
                if rank < 2:
                    qrels.write(f"q{qid} 0 {docid} 1\n")
    return make_recipe(
        backbone=str(tiny_backbone),
        corpus=str(tiny_corpus),
        queries=str(folder / "queries.tsv"),
        qrels=str(folder / "qrels.txt"),
        negatives=str(folder / "run.txt"),
        dev_queries=str(folder / "queries.tsv"),
        dev_qrels=str(folder / "qrels.txt"),
        max_length=32,
        k=3,
        batch_size=4,
        micro_batch=4,
        warmup_steps=3,
        steps=8,
        block=8,
        tau=50.0,
        gammas=(0.9,),
        period=2,
        weighting_rate=1e-3,
        expansion_rate=1e-3,
        validate_every=2,
        patience=99,
    )


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> Commands:
    return Commands(monkeypatch, capfd, caplog)


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the demo has run, with its output in ``demo.out``. Takes minutes."""
    folder = tmp_path_factory.mktemp("demo")
    done = shell("spade demo", folder)
    assert done.returncode == 0, done.stderr
    (folder / "demo.out").write_text(done.stdout)
    return folder


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Run all tests of a file in one process; both files that use `demo_folder` share a process.

    If only ``tests/faults`` is run, the tests of a file are also distributed over the processes,
    because each test takes long.
    """
    from xdist.scheduler import LoadFileScheduling

    only_faults = all("tests/faults" in argument for argument in config.args)

    class Scheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            if only_faults:
                return nodeid
            file: str = super()._split_scope(nodeid)
            return "demo" if file.endswith(("cli/test_demo.py", "docs/test_readme.py")) else file

    return Scheduling(config, log)
