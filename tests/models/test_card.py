"""The model card that `save_pretrained` writes."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
import yaml

from spade_pyserini import SpadeConfig, SpadeModel
from spade_pyserini.models.card import card_licence, write_card
from spade_pyserini.models.hub import resolve_model


def front_matter(card: Path) -> dict[str, str]:
    _, head, _ = card.read_text().split("---\n", 2)
    values: dict[str, str] = yaml.safe_load(head)
    return values


@pytest.mark.parametrize(
    ("name", "licence", "text"),
    [
        ("spade-mini", "other", "has the licence other (research-only)"),
        ("spade-mini-2", "apache-2.0", "has the licence apache-2.0"),
    ],
)
def test_a_shipped_model_that_is_saved_again(
    tmp_path: Path, name: str, licence: str, text: str
) -> None:
    model = SpadeModel.from_pretrained(name).with_settings(alpha=0.25)
    model.save_pretrained(tmp_path / "mine")
    shipped, saved = resolve_model(name), tmp_path / "mine"
    sizes = [(folder / "model.safetensors").stat().st_size for folder in (shipped, saved)]
    assert sizes[0] == sizes[1]  # without the backbone
    card = saved / "README.md"
    values = front_matter(card)
    assert values["license"] == licence
    assert values["base_model"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert f"loaded from `{name}`" in card.read_text() and text in card.read_text()
    assert "| alpha | 0.25 |" in card.read_text()
    assert "first 256 WordPieces" in card.read_text()
    assert stat.S_IMODE(card.stat().st_mode) & 0o444 == 0o444
    # A copy of the copy still has the licence.
    SpadeModel.from_pretrained(tmp_path / "mine").save_pretrained(tmp_path / "again")
    assert front_matter(tmp_path / "again" / "README.md")["license"] == licence


def test_a_new_model(tiny_backbone: Path, tmp_path: Path) -> None:
    SpadeModel.from_backbone(tiny_backbone).save_pretrained(tmp_path / "new")
    card = tmp_path / "new" / "README.md"
    assert front_matter(card)["license"] == "unknown"
    assert "UNTRAINED" in card.read_text() and "SpadeModel.from_backbone" in card.read_text()
    assert card_licence(tmp_path / "new") is None


def test_models_without_a_card(tiny_model_folder: Path, tmp_path: Path) -> None:
    assert card_licence(tmp_path) is None
    (tmp_path / "README.md").write_text("# no front matter\nlicense: mit\n")
    assert card_licence(tmp_path) is None
    write_card(tmp_path, SpadeConfig.load(tiny_model_folder), "owner/model-on-the-hub")
    assert "has an unknown licence" in (tmp_path / "README.md").read_text()


def test_the_licences_of_the_shipped_models() -> None:
    licences = [card_licence(resolve_model(name)) for name in ("spade-mini", "spade-mini-2")]
    assert licences == ["other (research-only)", "apache-2.0"]


def test_half_halves_and_a_single_text_is_encoded(tiny_model: SpadeModel, tmp_path: Path) -> None:
    for half in (False, True):
        tiny_model.save_pretrained(tmp_path / str(half), half=half)
    sizes = [(tmp_path / str(x) / "model.safetensors").stat().st_size for x in (False, True)]
    assert sizes[1] < 0.6 * sizes[0]
    text = "the old cat"
    assert tiny_model.encode(text) == tiny_model.encode([text])[0]
