from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from spade_pyserini import SpadeConfig, SpadeModel
from spade_pyserini.errors import ArtifactError, InputError, NotFoundError, UsageError
from spade_pyserini.models import backbone, expansion, minilm
from spade_pyserini.models.quantize import calibrate, quantize
from tests.conftest import lively

TEXTS = ["the old cat sleeps in the house", "a dog eats the fish", "river"]


def inputs(model: SpadeModel, texts: list[str] = TEXTS) -> tuple[Tensor, Tensor]:
    ids = model.wordpieces.document_ids(texts, 32)
    length = max(map(len, ids))
    input_ids = torch.tensor([one + [0] * (length - len(one)) for one in ids])
    mask = torch.tensor([[1] * len(one) + [0] * (length - len(one)) for one in ids])
    return input_ids, mask


def hidden(transformer: torch.nn.Module, input_ids: Tensor, mask: Tensor) -> Tensor:
    states: Tensor = transformer(input_ids=input_ids, attention_mask=mask)[0]
    return states


@torch.no_grad()
@pytest.mark.parametrize("pooling", ["max", "first"])
def test_weighting_is_equations_4_to_6(tiny_backbone: Path, pooling: str) -> None:
    model = lively(SpadeModel.from_backbone(tiny_backbone, SpadeConfig(k=3, pooling=pooling)))
    input_ids, mask = inputs(model)
    vectors, _ = model(input_ids, mask)
    states = hidden(model.weighting.backbone, input_ids, mask)
    parameter = model.weighting.head.get_parameter
    first, first_bias = parameter("1.weight"), parameter("1.bias")
    second, second_bias = parameter("3.weight"), parameter("3.bias")
    for document in range(len(TEXTS)):
        expected = [0.0] * vectors.shape[1]
        seen = set()
        for position in range(int(mask[document].sum())):
            term = int(input_ids[document, position])
            if term in model.wordpieces.special_ids or (pooling == "first" and term in seen):
                continue
            seen.add(term)
            inner = torch.relu(first @ states[document, position] + first_bias)
            score = torch.relu(second[0] @ inner + second_bias[0]).item()
            expected[term] = max(expected[term], score)
        assert torch.allclose(vectors[document], torch.tensor(expected), atol=1e-6)
        assert sum(value > 0 for value in expected) > 0


@torch.no_grad()
@pytest.mark.parametrize("block", [7, 4096])
def test_expansion_is_equations_7_to_9(
    tiny_model: SpadeModel, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expansion, "BLOCK", block)
    input_ids, mask = inputs(tiny_model)
    _, vectors = tiny_model(input_ids, mask)
    encoder = tiny_model.expansion
    states = hidden(encoder.backbone, input_ids, mask)
    embeddings = encoder.backbone.get_input_embeddings().get_parameter("weight")
    for document in range(len(TEXTS)):
        expected = [0.0] * vectors.shape[1]
        for position in range(int(mask[document].sum())):  # [CLS] and [SEP] too
            row = encoder.head(states[document, position])
            logits = [
                (embeddings[term] @ row + encoder.head.bias[term]).item()
                if term not in tiny_model.wordpieces.special_ids
                else float("-inf")
                for term in range(len(embeddings))
            ]
            for term in sorted(range(len(logits)), key=lambda one: -logits[one])[: encoder.k]:
                expected[term] = max(expected[term], logits[term])
        assert torch.allclose(vectors[document], torch.tensor(expected), atol=1e-5)


@pytest.mark.parametrize("top_k", [True, False])
def test_the_gradient_of_expansion_is_that_of_the_equations(
    tiny_model_folder: Path, top_k: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against autograd on all logits at once: of the head, and of the embeddings behind it."""
    monkeypatch.setattr(expansion, "BLOCK", 13)
    model = SpadeModel.from_pretrained(tiny_model_folder)
    encoder = model.expansion
    input_ids, mask = inputs(model)
    states = hidden(encoder.backbone, input_ids, mask).detach().requires_grad_()
    direction = torch.randn(len(TEXTS), len(model.kept), generator=torch.Generator().manual_seed(1))
    embeddings = encoder.backbone.get_input_embeddings().get_parameter("weight")
    leaves = [states, embeddings, encoder.head.dense.weight, encoder.head.bias]

    logits = encoder.logits(states.flatten(0, 1)).view(*input_ids.shape, -1).relu()
    logits = logits * mask[:, :, None] * model.kept
    if top_k:
        logits = logits * (logits >= logits.topk(encoder.k, dim=2).values[:, :, -1:])
    expected = torch.autograd.grad((logits.amax(dim=1) * direction).sum(), leaves)

    vectors = encoder(states, mask.bool(), model.kept, top_k)
    assert torch.allclose(vectors, logits.amax(dim=1), atol=1e-5)
    found = torch.autograd.grad((vectors * direction).sum(), leaves)
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other, atol=1e-4)
        assert one.abs().max() > 0.01


@torch.no_grad()
def test_at_most_k_terms_for_each_token(tiny_model: SpadeModel) -> None:
    input_ids, mask = inputs(tiny_model, ["cat"])
    _, vectors = tiny_model(input_ids, mask)
    assert 0 < int((vectors > 0).sum()) <= 3 * tiny_model.config.k


@torch.no_grad()
def test_special_and_removed_terms_never_get_weight(tiny_backbone: Path) -> None:
    model = SpadeModel.from_backbone(tiny_backbone, SpadeConfig(k=50))
    cat = model.wordpieces.terms.index("cat")
    before = model.weigh(model.wordpieces.document_ids(["the cat"], 32))
    assert before[0, cat] > 0
    model.kept[cat] = False
    for vector in model(*inputs(model)):
        assert vector[:, sorted(model.wordpieces.special_ids)].abs().sum() == 0
        assert vector[:, cat].abs().sum() == 0


@torch.no_grad()
def test_padding_and_order_change_nothing(tiny_model: SpadeModel) -> None:
    ids = tiny_model.wordpieces.document_ids(TEXTS, 32)
    together = tiny_model.weigh(ids)
    for place, one in enumerate(ids):
        assert torch.allclose(tiny_model.weigh([one])[0], together[place], atol=1e-5)
    assert torch.allclose(tiny_model.weigh(ids[::-1]).flip(0), together, atol=1e-5)


def test_alpha_mixes_the_two_vectors(tiny_model: SpadeModel) -> None:
    weighting, expanded = torch.tensor([[2.0, 0.0]]), torch.tensor([[0.0, 4.0]])
    assert tiny_model.aggregate(weighting, expanded).tolist() == [[1.0, 2.0]]  # alpha 0.5


@pytest.mark.parametrize(("alpha", "idle"), [(0.0, "expansion"), (1.0, "weighting")])
def test_an_encoder_without_a_share_rests(
    tiny_model: SpadeModel, monkeypatch: pytest.MonkeyPatch, alpha: float, idle: str
) -> None:
    ids = tiny_model.wordpieces.document_ids(["the old cat sleeps", "a bird", ""], 32)
    monkeypatch.setattr(tiny_model, "config", replace(tiny_model.config, alpha=alpha))
    wanted = tiny_model.aggregate(*tiny_model.components(ids))

    def fail(*_: object) -> None:
        raise AssertionError("it was asked")

    monkeypatch.setattr(tiny_model, f"{idle}_vectors", fail)
    assert torch.allclose(tiny_model.weigh(ids), wanted)
    assert wanted[:2].any(dim=1).all() and not wanted[2].any()


def test_encode_gives_whole_impacts_by_wordpiece(tiny_model: SpadeModel) -> None:
    vectors = tiny_model.encode([*TEXTS, ""])
    assert len(vectors) == 4
    for vector in vectors[:3]:
        assert all(isinstance(impact, int) and 1 <= impact <= 255 for impact in vector.values())
        assert (
            set(vector) <= set(tiny_model.wordpieces.terms) - tiny_model.wordpieces.special_tokens
        )


def test_quantization_is_linear_rounded_and_cut_off() -> None:
    weights = torch.tensor([0.0, 0.04, 0.05001, 1.0, 30.0])
    assert quantize(weights, 10.0, 8).tolist() == [0, 0, 1, 10, 255]
    assert quantize(weights, 10.0, 4).tolist() == [0, 0, 1, 10, 15]
    assert quantize(torch.tensor([3.0]), calibrate(3.0, 8), 8).tolist() == [255]


@pytest.mark.parametrize("shared", [True, False])
def test_saving_and_loading_keeps_everything(
    tiny_backbone: Path, tmp_path: Path, shared: bool
) -> None:
    config = SpadeConfig(k=2, alpha=0.3, scale=12.5, max_length=16, shared_backbone=shared)
    model = SpadeModel.from_backbone(tiny_backbone, config)
    model.kept[20] = False
    model.save_pretrained(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"config.json", "model.safetensors", "tokenizer.json"}
    loaded = SpadeModel.from_pretrained(tmp_path)
    assert loaded.fingerprint == model.fingerprint
    assert loaded.encode(TEXTS) == model.encode(TEXTS)


def test_two_transformers_start_alike_and_are_apart(tiny_model: SpadeModel) -> None:
    first, second = tiny_model.weighting.backbone, tiny_model.expansion.backbone
    assert first is not second
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(one, other)
        assert one.data_ptr() != other.data_ptr()


def test_fresh_heads_follow_the_seed(tiny_backbone: Path) -> None:
    prints = [SpadeModel.from_backbone(tiny_backbone, seed=seed).fingerprint for seed in (1, 1, 2)]
    assert prints[0] == prints[1] != prints[2]


def test_a_masked_lm_head_is_taken_from_the_backbone(tiny_backbone: Path, tmp_path: Path) -> None:
    """The logits of our expansion encoder are those of transformers' own masked-LM model."""
    from transformers import BertConfig, BertForMaskedLM

    shutil.copytree(tiny_backbone, tmp_path / "mlm")
    torch.manual_seed(3)
    theirs = BertForMaskedLM(BertConfig.from_pretrained(tiny_backbone)).eval()  # type: ignore[no-untyped-call]
    with torch.no_grad():
        theirs.cls.predictions.bias.normal_()
    theirs.save_pretrained(tmp_path / "mlm")
    model = SpadeModel.from_backbone(tmp_path / "mlm", SpadeConfig(k=10_000, max_length=32))
    input_ids, mask = inputs(model, TEXTS[:1])
    with torch.no_grad():
        logits = theirs(input_ids=input_ids, attention_mask=mask).logits[0].relu().amax(dim=0)
        _, vectors = model(input_ids, mask)
    kept = model.kept
    assert torch.allclose(vectors[0, kept], logits[kept], atol=1e-5)
    assert logits[kept].max() > 0


def test_minilm_has_no_head() -> None:
    assert backbone.load_backbone("minilm").head is None


def test_minilm_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert minilm.minilm_folder().is_dir()
    monkeypatch.setattr(minilm, "SHA256", "0" * 64)
    with pytest.raises(ArtifactError, match="not those of all-MiniLM-L6-v2"):
        minilm.minilm_folder()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(
    tiny_model_folder: Path, tmp_path: Path, value: float
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny_model_folder, folder)
    tensors = load_file(folder / "model.safetensors")
    tensors["weighting.head.3.bias"][0] = value
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(ArtifactError, match=r"weighting\.head\.3\.bias holds NaN or infinite"):
        SpadeModel.from_pretrained(folder)


def test_damaged_model_folders_are_named(tiny_model_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny_model_folder, folder)
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[:-100])
    with pytest.raises(ArtifactError, match="not the weights of this model"):
        SpadeModel.from_pretrained(folder)
    (folder / "model.safetensors").write_bytes(weights)
    config = json.loads((folder / "config.json").read_text())
    for change, message in (
        ({"model_type": "bert"}, 'model_type is "bert"'),
        ({"tau": 3}, "unknown settings tau"),
        ({"alpha": 7}, "alpha is a share"),
        ({"alpha": "x"}, "alpha is 'x', which is not of the right kind"),
        ({"k": 2.5}, "k is 2.5"),
        ({"bits": True}, "bits is True"),
        ({"max_length": 100_000}, "reads 64 WordPieces at most"),
        ({"backbone": "x"}, "backbone is 'x'"),
        ({"backbone": None}, "not the configuration of a model that can be built"),
        ({"backbone": {"model_type": "toaster"}}, "not the configuration of a model"),
    ):
        (folder / "config.json").write_text(json.dumps(config | change))
        with pytest.raises(InputError, match=message):
            SpadeModel.from_pretrained(folder)


def test_a_name_that_nobody_knows() -> None:
    with pytest.raises(NotFoundError, match="no model is called 'no-such/model'"):
        SpadeModel.from_pretrained("no-such/model")
    with pytest.raises(NotFoundError, match="backbone 'no-such/backbone'"):
        SpadeModel.from_backbone("no-such/backbone")


@pytest.mark.parametrize(
    "change", [{"alpha": 1.5}, {"k": 0}, {"pooling": "mean"}, {"bits": 0}, {"scale": float("nan")}]
)
def test_settings_that_make_no_sense(change: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        replace(SpadeConfig(), **change)  # type: ignore[arg-type]


def test_a_length_that_the_backbone_cannot_read(tiny_model: SpadeModel) -> None:
    old = tiny_model.config
    with pytest.raises(UsageError, match="reads 64 WordPieces at most"):
        tiny_model.reconfigure(max_length=65)
    tiny_model.config = old
