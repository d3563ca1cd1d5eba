"""Pyserini 2 is imported without a network."""

from __future__ import annotations

import subprocess
import sys

import pytest

# In the child process, no host name can be resolved. Only Pyserini 2 needs the network.
CODE = """
import socket, urllib.error
def refuse(*_, **__):
    raise socket.gaierror(-2, "Name or service not known")
socket.getaddrinfo = refuse
from spade_pyserini.lucene.pyserini_import import prepare_pyserini
prepare_pyserini()
from pyserini.search.lucene import LuceneImpactSearcher
from pyserini import prebuilt_index_info
if hasattr(prebuilt_index_info, "urlopen"):
    for name in ("msmarco-v1-passage.unicoil", "msmarco-passage-unicoil-d2q"):
        try:
            print(name, prebuilt_index_info.IMPACT_INDEX_INFO[name])
        except urllib.error.URLError:
            pass
"""


@pytest.mark.java
def test_pyserini_is_imported_without_a_network() -> None:
    """Only a request for a prebuilt index by its name fails, with a network error."""
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
