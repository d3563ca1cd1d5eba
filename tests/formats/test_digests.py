from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from spade_pyserini.formats.digests import non_default_fields, sha256


@dataclass(frozen=True)
class Settings:
    k: int = 10
    bits: int = 8


def test_only_changed_settings_count() -> None:
    assert non_default_fields(Settings()) == {}
    assert non_default_fields(Settings(bits=4)) == {"bits": 4}


def test_the_digest_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert sha256(tmp_path / "x") == hashlib.sha256(b"abc").hexdigest()
