"""Models on the Hugging Face hub, tested with the hub's client and a stand-in for its server.

The client reads its settings from the environment when it is imported. Therefore, the tests run it
in separate processes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from spade_pyserini import SpadeModel
from spade_pyserini.errors import UsageError
from spade_pyserini.models.encoder import SpadeEncoder
from tests.integrations.hub_server import TOKEN, Hub, running_hub

TEXTS = ["the old dog runs", "a bird sings in the green tree"]
START = """
import json, sys, warnings
warnings.simplefilter("ignore")
from spade_pyserini import SpadeModel

def report(value):
    print(">", json.dumps(value))

folder, texts = sys.argv[1], json.loads(sys.argv[2])
"""
PUSH = 'report(SpadeModel.from_pretrained(folder).push_to_hub("me/tiny", private=True))'
LOAD = 'report(SpadeModel.from_pretrained("me/tiny").encode(texts))'
PUSH_ENCODER = """
from spade_pyserini.integrations.sentence_transformers import sparse_encoder
report(sparse_encoder(folder).push_to_hub("me/encoder"))
"""
LOAD_ENCODER = """
import spade_pyserini.integrations.sentence_transformers
from sentence_transformers import SparseEncoder

encoder = SparseEncoder("me/encoder")
documents = encoder.encode_document(texts).to_dense().tolist()
report([documents, SpadeModel.from_pretrained("me/encoder").encode(texts)])
"""


@pytest.fixture
def hub() -> Iterator[Hub]:
    with running_hub() as hub:
        yield hub


class Client:
    """Runs Python programs in which the hub's client calls the stand-in."""

    def __init__(self, hub: Hub, model: Path, home: Path) -> None:
        self.model = model
        self.environment = {
            **os.environ,
            "HF_ENDPOINT": hub.address,
            "HF_HOME": str(home),
            "HF_TOKEN": TOKEN,
            "HF_HUB_OFFLINE": "0",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_XET": "1",
            "NO_PROXY": "127.0.0.1",
        }

    def __call__(self, program: str, **changes: str) -> subprocess.CompletedProcess[str]:
        arguments = [str(self.model), json.dumps(TEXTS)]
        return subprocess.run(
            [sys.executable, "-c", START + program, *arguments],
            env={**self.environment, **changes},
            capture_output=True,
            text=True,
            check=False,
        )

    def answer(self, program: str) -> list[Any]:
        """Run a program; return the values that it passed to ``report``."""
        done = self(program)
        assert done.returncode == 0, done.stderr
        return [json.loads(line[2:]) for line in done.stdout.splitlines() if line[:2] == "> "]


@pytest.fixture
def client(hub: Hub, tiny_model_folder: Path, tmp_path: Path) -> Client:
    return Client(hub, tiny_model_folder, tmp_path / "home")


def test_a_model_is_uploaded_and_loaded(hub: Hub, client: Client, tiny_model: SpadeModel) -> None:
    url, impacts = client.answer(f"{PUSH}\n{LOAD}")
    assert url.startswith(f"{hub.address}/me/tiny/commit/") and hub.private == {"me/tiny"}
    files = hub.repositories["me/tiny"]
    names = {"config.json", "model.safetensors", "tokenizer.json", "digests.json", "README.md"}
    assert set(files) == names
    card = files["README.md"].decode()
    assert 'from_pretrained("me/tiny")' in card and "THIS-FOLDER" not in card
    assert "pipeline_tag: feature-extraction" in card and "# tiny\n" in card
    assert impacts == tiny_model.encode(TEXTS)


def test_only_safe_files_are_downloaded_and_digests_are_checked(
    hub: Hub, client: Client, tiny_model_folder: Path
) -> None:
    files = hub.repositories["me/tiny"] = {
        path.name: path.read_bytes() for path in tiny_model_folder.iterdir()
    }
    files |= {"pytorch_model.bin": b"a pickle", "modeling_spade.py": b"raise SystemExit(9)"}
    (impacts,) = client.answer(LOAD)
    assert all(impacts)
    assert not [request for request in hub.requests if request.endswith((".bin", ".py"))]
    weights = files["model.safetensors"]
    files["model.safetensors"] = weights[:-1] + bytes([weights[-1] ^ 1])
    damaged = client(LOAD)
    assert damaged.returncode == 1 and "differs from its digest in digests.json" in damaged.stderr
    missing = client(LOAD.replace("me/tiny", "me/other"))
    assert "the Hugging Face hub has no public model of this name" in missing.stderr


def test_a_sparse_encoder_is_uploaded_and_loaded(
    hub: Hub, client: Client, tiny_model: SpadeModel
) -> None:
    """`SparseEncoder`, without trust_remote_code, and `SpadeModel` can both load the model."""
    _, (documents, impacts) = client.answer(PUSH_ENCODER + LOAD_ENCODER)
    card = hub.repositories["me/encoder"]["README.md"].decode()
    for tag in ("sentence-transformers", "sparse-encoder", "sparse", "spade"):
        assert f"- {tag}\n" in card
    assert not [name for name in hub.repositories["me/encoder"] if name.endswith((".py", ".bin"))]
    encoder = SpadeEncoder(tiny_model)
    wanted = encoder.weigh([document.ids for document in encoder.cut_documents(TEXTS)])
    torch.testing.assert_close(torch.tensor(documents), wanted, atol=1e-5, rtol=0)
    assert impacts == tiny_model.encode(TEXTS)


def test_wrong_calls(client: Client, tiny_model: SpadeModel) -> None:
    with pytest.raises(UsageError, match="must have the form OWNER/MODEL"):
        tiny_model.push_to_hub("tiny")
    refused = client(PUSH, HF_TOKEN="hf_wrong")
    assert "me/tiny cannot be uploaded: " in refused.stderr
    assert "hf auth login" in refused.stderr
