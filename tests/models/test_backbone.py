from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, BertModel

from spade_pyserini import SpadeConfig, SpadeModel
from spade_pyserini.errors import InputError
from spade_pyserini.models.backbone import load_backbone
from tests.models.helpers import TEXTS, inputs


def test_the_masked_lm_head_of_the_backbone_is_used(tiny_backbone: Path, tmp_path: Path) -> None:
    """The logits of the expansion encoder are those of the masked-LM model of transformers."""
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
    assert torch.allclose(vectors[0, model.kept], logits[model.kept], atol=1e-5)
    assert logits[model.kept].max() > 0


def test_minilm_has_no_head() -> None:
    assert load_backbone("minilm").head is None


def test_a_tokenizer_with_more_wordpieces_than_the_model(
    tiny_backbone: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny_backbone, tmp_path / "small")
    config = BertConfig.from_pretrained(tiny_backbone, vocab_size=50)
    BertModel(config).save_pretrained(folder)  # type: ignore[no-untyped-call]
    with pytest.raises(InputError, match="the embedding matrix has 50 rows"):
        load_backbone(folder)
