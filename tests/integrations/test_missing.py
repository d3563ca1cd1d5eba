"""If an optional library is not installed, the error names the extra to install."""

from __future__ import annotations

import importlib
import sys

import pytest

from spade_pyserini.errors import NotFoundError

LIBRARIES = {
    "beir": "beir",
    "haystack": "haystack",
    "langchain": "langchain_core",
    "llama-index": "llama_index",
    "mteb": "mteb",
    "pyterrier": "pyterrier",
}


@pytest.mark.java
@pytest.mark.parametrize("extra", LIBRARIES)
def test_the_error_names_the_extra(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library = LIBRARIES[extra]
    for name in [name for name in sys.modules if name.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    module = f"spade_pyserini.integrations.{extra.replace('-', '_')}"
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(NotFoundError, match=rf"pip install 'spade_pyserini\[{extra}\]'"):
        importlib.import_module(module)
