"""The jar was compiled from the sources in the repository."""

from __future__ import annotations

import zipfile

from spade_pyserini.lucene.jar import DIGEST, JAR, is_current, sources_digest


def test_the_jar_is_that_of_the_sources() -> None:
    assert is_current(), "run `python -m spade_pyserini.lucene.jar.build` with a JDK"
    with zipfile.ZipFile(JAR) as jar:
        assert jar.read(DIGEST).decode() == sources_digest()
        assert not [name for name in jar.namelist() if not name.startswith(("spade/", DIGEST))]
