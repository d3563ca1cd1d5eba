from __future__ import annotations

import pytest

from spade_pyserini.errors import ArtifactError
from spade_pyserini.models import minilm


def test_the_weights_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert minilm.minilm_folder().is_dir()
    monkeypatch.setattr(minilm, "SHA256", "0" * 64)
    with pytest.raises(ArtifactError, match="not those of all-MiniLM-L6-v2"):
        minilm.minilm_folder()
