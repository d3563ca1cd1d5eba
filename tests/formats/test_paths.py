from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini.formats.paths import is_local, location, safe_file_name


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "..", ".hidden", "a b", "é", ""])
def test_a_name_is_always_one_harmless_path_component(name: str) -> None:
    cleaned = safe_file_name(name)
    assert Path(cleaned).name == cleaned
    assert cleaned not in ("", ".", "..")
    assert not cleaned.startswith(".")


def test_an_address_of_a_local_file_is_a_path(tmp_path: Path) -> None:
    assert location(f"file://{tmp_path}/x") == tmp_path / "x"
    assert is_local(location(f"file://{tmp_path}/x"))
