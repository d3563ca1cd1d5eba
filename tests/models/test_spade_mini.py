"""The models that ship with the package."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from safetensors.torch import load_file

from spade_pyserini import SpadeModel
from spade_pyserini.models.hub import DEFAULT, WEIGHTS
from spade_pyserini.models.wordpieces import PRETRAINED
from spade_pyserini.train import load_recipe


@pytest.mark.parametrize(
    ("name", "recipe_name"), [("spade-mini", "spade-mini-v1"), ("spade-mini-2", "spade-mini-2")]
)
def test_only_what_was_trained_is_shipped(name: str, recipe_name: str) -> None:
    folder = PRETRAINED / name
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 12_000_000
    tensors = load_file(folder / WEIGHTS)
    assert not any(".backbone." in name and "lora_" not in name for name in tensors)
    config = json.loads((folder / "config.json").read_text())
    assert config["trained"]
    assert config["base"] == "minilm"
    assert config["scale"] > 0
    recipe = load_recipe(recipe_name)
    for setting in ("k", "adapter_rank", "adapter_layers", "decoder_rank"):
        assert config[setting] == getattr(recipe.model, setting)


@pytest.mark.parametrize("name", ["spade-mini", "spade-mini-2"])
def test_it_adds_terms_that_people_use_in_queries(name: str) -> None:
    model = SpadeModel.from_pretrained(name)
    text = "Aspirin lowers the risk of myocardial infarction."
    expansion = model.expand(text)
    added = [term.term for term in expansion.added]
    assert {"heart", "cardiac", "stroke"} & set(added[:10])
    assert {"risk", "lowers"} <= {term.term for term in (*expansion.raised, *expansion.rest)}
    lines = str(expansion).splitlines()
    assert [line.split()[0] for line in lines] == ["added", "raised", "unchanged"]
    assert f"{expansion.added[0].term} {expansion.added[0].impact}" in lines[0]
    (vector,) = model.encode([text])
    assert vector == {term.term: term.impact for part in expansion for term in part}
    assert all(1 <= impact <= 255 for impact in vector.values())


@pytest.mark.parametrize("name", ["spade-mini", "spade-mini-2"])
def test_a_question_finds_its_answer_without_a_common_word(name: str) -> None:
    model = SpadeModel.from_pretrained(name)
    documents = [
        "Physicians recommend that adults obtain seven hours of slumber every night.",
        "The bank raised interest rates on mortgages by half a percent.",
        "Glaciers are shrinking as the climate warms.",
    ]
    vectors = model.encode(documents)
    for query, expected in (
        ("how much sleep does a doctor advise", 0),
        ("home loan cost", 1),
        ("is ice melting", 2),
    ):
        terms = model.wordpieces.query_terms(query)
        scores = [sum(vector.get(term, 0) for term in terms) for vector in vectors]
        assert scores.index(max(scores)) == expected, (query, scores)


def test_inflected_forms_and_low_weights_of_filler_words() -> None:
    model = SpadeModel.from_pretrained("spade-mini")
    (vector,) = model.encode(["An algorithm that sorts a list of numbers."])
    assert vector["algorithms"] > 0.6 * vector["algorithm"]
    weights, term_ids = model.query_weights, model.wordpieces.term_ids
    for word in ("interested", "papers", "articles"):
        assert weights[term_ids[word]] < 0.5 * weights[term_ids["algorithm"]]


def test_it_is_the_default_of_encode() -> None:
    assert DEFAULT == "spade-mini"
    command = [sys.executable, "-m", "spade_pyserini.encode", "--help"]
    assert "default: spade-mini" in subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.replace("\n", " ")
