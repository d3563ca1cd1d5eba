"""The jars were compiled from the sources in the repository."""

from __future__ import annotations

import zipfile

import pytest

from spade_pyserini.lucene.jar import (
    DIGEST,
    LUCENE_VERSIONS,
    is_current,
    jar_path,
    source_files,
    sources_digest,
)


@pytest.mark.parametrize("lucene", LUCENE_VERSIONS)
def test_a_jar_is_that_of_the_sources(lucene: int) -> None:
    assert is_current(lucene), "run `make jar` with a JDK and both of Anserini's jars"
    with zipfile.ZipFile(jar_path(lucene)) as jar:
        assert jar.read(DIGEST).decode() == sources_digest(lucene)
        classes = [name for name in jar.namelist() if name != DIGEST]
        outer = {name for name in classes if "$" not in name}
    assert outer == {f"spade/{path.stem}.class" for path in source_files(lucene)}
    assert all(name.startswith("spade/") for name in classes)


def test_the_versions_differ_in_a_few_lines_only() -> None:
    first, second = ({path.name for path in source_files(lucene)} for lucene in LUCENE_VERSIONS)
    assert first == second
    own = [path for path in source_files(10) if path.parent.name == "lucene10"]
    assert sum(len(path.read_text().splitlines()) for path in own) < 120
