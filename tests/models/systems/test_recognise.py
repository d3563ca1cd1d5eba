"""A model that is damaged, or of no known system, raises an error that names the cause."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertForSequenceClassification, GPT2Config, GPT2LMHeadModel

from spade_pyserini.errors import ArtifactError, InputError, NotFoundError, SpadeError, UsageError
from spade_pyserini.models.systems.loading import load_encoder
from spade_pyserini.models.systems.recognise import check_model, recognise
from tests.models.systems import checkpoints

EXPECTED = {
    "splade": "splade",
    "splade-max": "sparse-encoder",
    "splade-doc": "sparse-encoder",
    "opensearch": "sparse-encoder",
    "unicoil": "unicoil",
    "tildev2": "tildev2",
    "deepimpact": "deepimpact",
    "deepct": "deepct",
}


def test_systems_are_recognised_by_their_files(
    systems: dict[str, Path], tiny_model_folder: Path
) -> None:
    assert {name: recognise(systems[name]) for name in EXPECTED} == EXPECTED
    assert recognise(tiny_model_folder) == "spade"
    check_model("spade-mini")
    with pytest.raises(NotFoundError, match="there is no model"):
        check_model("no-such-model")


def test_dense_models_are_refused(tiny_backbone: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    transformer = Transformer(str(tiny_backbone))
    dense = SentenceTransformer(modules=[transformer, Pooling(32)], device="cpu")
    dense.save_pretrained(str(tmp_path / "dense"))
    with pytest.raises(InputError, match=r"SentenceTransformer.*no sparse vectors; `spade dense`"):
        load_encoder(tmp_path / "dense")
    settings = tmp_path / "dense" / "config_sentence_transformers.json"
    settings.unlink()  # early versions of sentence-transformers do not write this file
    with pytest.raises(InputError, match=r"a dense model \(Transformer, Pooling\)"):
        load_encoder(tmp_path / "dense")
    with pytest.raises(InputError, match=r"(?s)BertModel is a transformer without.*SPLADE.*DeepCT"):
        load_encoder(tiny_backbone)


def test_other_kinds_of_models_are_refused(tiny_backbone: Path, tmp_path: Path) -> None:
    config = GPT2Config(vocab_size=50, n_embd=8, n_layer=1, n_head=1)
    GPT2LMHeadModel(config).save_pretrained(tmp_path / "gpt")  # type: ignore[no-untyped-call]
    with pytest.raises(InputError, match=r"(?s)GPT2LMHeadModel is a generative model.*uniCOIL"):
        load_encoder(tmp_path / "gpt")
    ranker = BertForSequenceClassification(  # type: ignore[no-untyped-call]
        checkpoints.config_of(tiny_backbone)
    )
    checkpoints.save(ranker, tiny_backbone, tmp_path / "ranker")
    with pytest.raises(InputError, match="re-ranker, see `spade rerank`"):
        load_encoder(tmp_path / "ranker")
    with pytest.raises(InputError, match="token classifier with 3 labels; DeepCT has one"):
        load_encoder(checkpoints.deepct(tiny_backbone, tmp_path / "ner", labels=3))
    with pytest.raises(InputError, match="this is COIL, with 32 dimensions"):
        load_encoder(checkpoints.token_weights(tiny_backbone, tmp_path / "coil", rows=32))
    with pytest.raises(InputError, match="uniCOIL and TILDEv2 have the same tensors"):
        load_encoder(checkpoints.token_weights(tiny_backbone, tmp_path / "x", name="BertModel"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"no config\.json"):
        load_encoder(tmp_path / "empty")


def edited(source: Path, target: Path, file: str, **changes: object) -> Path:
    """Copy a model and change values in one of its JSON files."""
    folder = shutil.copytree(source, target)
    path = folder / file
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return folder


def test_code_and_pickles_are_never_loaded(systems: dict[str, Path], tmp_path: Path) -> None:
    remote = edited(
        systems["splade"], tmp_path / "remote", "config.json", auto_map={"AutoModel": "m.Model"}
    )
    with pytest.raises(InputError, match="code of its own, which is never run"):
        load_encoder(remote)
    pickled = shutil.copytree(systems["splade"], tmp_path / "pickled")
    (pickled / "model.safetensors").unlink()
    torch.save({}, pickled / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"pytorch_model\.bin, which can run code"):
        load_encoder(pickled)
    index = '{"weight_map": {"a": ["../x.safetensors"], "b": 1}}'
    (pickled / "model.safetensors.index.json").write_text(index)
    with pytest.raises(InputError, match="only files in its own folder"):
        load_encoder(pickled)
    custom = shutil.copytree(systems["splade-max"], tmp_path / "custom")
    modules = (custom / "modules.json").read_text()
    (custom / "modules.json").write_text(modules.replace("sentence_transformers.", "evil.", 1))
    with pytest.raises(InputError, match="the model's own code, which is never run"):
        load_encoder(custom)
    (custom / "modules.json").write_text('[{"type": 3, "path": ""}]')
    with pytest.raises(InputError, match=r"not a list of modules .*3 is not the name of a class"):
        load_encoder(custom)
    (custom / "modules.json").write_text('[{"type": "sentence_transformers.models.X", "path": 3}]')
    with pytest.raises(InputError, match="not a list of modules"):
        load_encoder(custom)
    outside = shutil.copytree(systems["splade-max"], tmp_path / "outside")
    (outside / "modules.json").write_text(modules.replace("1_SpladePooling", "../../x"))
    with pytest.raises(InputError, match="outside the folder of the model"):
        load_encoder(outside)


@pytest.mark.parametrize("name", ["splade", "tildev2", "deepimpact", "deepct", "splade-max"])
def test_missing_and_infinite_tensors(name: str, systems: dict[str, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(systems[name], tmp_path / "model")
    path = folder / "model.safetensors"
    tensors = load_file(path)
    layer = next(key for key in tensors if key.endswith("layer.1.output.dense.weight"))
    without = {key: tensor for key, tensor in tensors.items() if key != layer}
    save_file(without, path, {"format": "pt"})
    with pytest.raises(ArtifactError, match=r"lack 1 tensors \(.*layer\.1\.output"):
        load_encoder(folder)
    tensors[layer][0, 0] = float("inf")
    save_file(tensors, path, {"format": "pt"})
    with pytest.raises(ArtifactError, match=r"output\.dense\.weight contains NaN or infinite"):
        load_encoder(folder)
    path.write_bytes(b"\x10\0\0\0\0\0\0\0{}")
    with pytest.raises(SpadeError):
        load_encoder(folder)


def test_another_vocabulary_than_the_tokenizers(
    systems: dict[str, Path], tiny_backbone: Path, tmp_path: Path
) -> None:
    small = checkpoints.masked_lm(tiny_backbone, tmp_path / "small", vocab_size=50)
    with pytest.raises(InputError, match="the embedding matrix has 50 rows, but the tokenizer"):
        load_encoder(small)
    large = checkpoints.masked_lm(tiny_backbone, tmp_path / "large", vocab_size=5000)
    with pytest.raises(InputError, match="5000 rows"):
        load_encoder(large)
    config = edited(systems["tildev2"], tmp_path / "config", "config.json", vocab_size=99)
    with pytest.raises(InputError, match="vocab_size is 99"):
        load_encoder(config)
    padded = checkpoints.masked_lm(tiny_backbone, tmp_path / "padded", vocab_size=128)
    assert max(map(len, load_encoder(padded).encode(["the cat"]))) < 128  # type: ignore[attr-defined]


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_weights_of_query_terms_that_no_index_can_hold(
    weight: float, systems: dict[str, Path], tmp_path: Path
) -> None:
    size = checkpoints.config_of(systems["splade"]).vocab_size
    weights = torch.ones(size)
    weights[20] = weight
    folder = checkpoints.routed_encoder(tmp_path / "m", systems["splade"], weights)
    with pytest.raises(InputError, match="weights must be finite and not negative"):
        load_encoder(folder)


def test_settings_that_a_system_does_not_have(systems: dict[str, Path]) -> None:
    encoder = load_encoder(systems["splade"])
    with pytest.raises(UsageError, match="the system splade has no setting alpha; it has bits"):
        encoder.with_settings(alpha=0.3)
    with pytest.raises(UsageError, match="reads at most 64 WordPieces"):
        encoder.with_settings(max_length=65)
    assert encoder.with_settings(max_length=8).fingerprint != encoder.fingerprint
